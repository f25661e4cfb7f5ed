import BotSwarmCore
import ChatModel
import Testing
import Wire

@Suite struct FrameReaderTests {
    private let names: BotNames
    private let room: RoomID
    private let user: UserID

    init() throws {
        names = try #require(BotNames(run: "k3"))
        room = try #require(RoomID("r"))
        user = try #require(UserID("bot-k3-1"))
    }

    private func read(_ text: String, _ reader: inout FrameReader) -> [Incoming] {
        Array(text.utf8).withUnsafeBytes { reader.items(of: $0) }
    }

    private func read(_ text: String) -> [Incoming] {
        var reader = FrameReader(sightings: SightingReader(names: names))
        return read(text, &reader)
    }

    private func push(_ n: Int, seq: UInt64) -> String {
        let message = Message(
            room: room, place: .kept(seq: seq), messageID: "m\(seq)", time: Timestamp(1),
            from: Sender(user: user, profile: Profile(), role: .guest),
            body: .text(names.text(of: BotID(1), n, bytes: 40)))
        var json: [UInt8] = []
        Push.message(message).appendJSON(to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    private func kept(_ n: Int, seq: UInt64) -> Incoming {
        .kept(
            room,
            KeptSighting(
                seq: seq, messageID: Fingerprint("m\(seq)"),
                body: Fingerprint(names.text(of: BotID(1), n, bytes: 40)), origin: .bot(Claim(bot: BotID(1), n: n)),
                time: Timestamp(1)))
    }

    @Test func `several pushes of a frame come in order`() {
        #expect(read(push(1, seq: 1) + "\n" + push(2, seq: 2)) == [kept(1, seq: 1), kept(2, seq: 2)])
    }

    @Test func `a frame that was seen before is read alike, and a similar one is not mixed up with it`() {
        var reader = FrameReader(sightings: SightingReader(names: names))
        for _ in 0..<3 {
            for number in 1...600 {
                #expect(read(push(number, seq: UInt64(number)), &reader) == [kept(number, seq: UInt64(number))])
            }
        }
    }

    @Test func `gaps, skips, kicks and states are read`() {
        #expect(
            read(#"{"gap":{"room":"r","ranges":[[2,5],[7,7]],"cause":"SLOW"}}"#) == [.gap(room, [2...5, 7...7], .slow)])
        #expect(read(#"{"gap":{"room":"r","ranges":[[2,5]],"cause":"BUDGET"}}"#) == [.gap(room, [2...5], .budget)])
        #expect(
            read(#"{"skipped":{"room":"r","barrage":3,"unkept":2}}"#) == [.skipped(room, unkept: 2, barrage: 3)])
        #expect(read(#"{"kicked":{"room":"r","reason":2}}"#) == [.kicked(room, .byManager)])
        #expect(read(#"{"state":{"room":"r","state":"LOST"}}"#) == [.state(room, .lost)])
        #expect(
            read(#"{"reconnect":{"minMs":500,"maxMs":8000,"gateways":[]}}"#)
                == [.reconnect(minMilliseconds: 500, maxMilliseconds: 8_000)])
        #expect(read(#"{"online":{"room":"r","online":5}}"#) == [.other])
    }

    @Test func `a gap that goes backwards is malformed`() {
        guard case .malformed? = read(#"{"gap":{"room":"r","ranges":[[5,2]],"cause":"SLOW"}}"#).first else {
            Issue.record("it was read")
            return
        }
    }

    @Test(arguments: ["", "x", "{", #"{"gap":"#, "[]"])
    func `what is not a frame is malformed`(text: String) {
        guard case .malformed? = read(text).last else {
            Issue.record("it was read")
            return
        }
    }

    @Test func `what is not known is passed over`() {
        #expect(read(#"{"fireworks":{"room":"r"}}"#) == [.other])
    }
}
