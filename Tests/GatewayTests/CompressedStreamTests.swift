import ChatModel
import Deflate
import HTTPWebSocket
import RoomProtocol
import Testing
import Wire

@testable import Gateway

/// The compressed stream of a room, without viewers.
@Suite struct CompressedStreamTests {
    private let room: RoomID
    private let stream: Stream

    /// As a hub has it.
    private final class Stream {
        private let compression: LaneCompression
        private var stream: CompressedStream

        init(_ room: RoomID) throws {
            compression = try #require(LaneCompression())
            stream = CompressedStream(room: room)
        }

        var byteCount: Int { stream.byteCount }

        func append(_ frame: SharedFrame, needsPrimer: Bool) -> CompressedStream.Step? {
            stream.append(frame, needsPrimer: needsPrimer, by: compression)
        }
    }

    init() throws {
        room = try #require(RoomID("live"))
        stream = try Stream(room)
    }

    /// The messages of a frame as a client reads them; nil when it can't.
    private func read(_ bytes: [UInt8], by inflater: Inflater) -> [(isCompressed: Bool, text: String)]? {
        var messages: [(Bool, String)] = []
        var isBroken = false
        var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: 1 << 20)
        decoder.mayBeCompressed = true
        let failure = bytes.withUnsafeBytes { bytes in
            decoder.decode(bytes) { event in
                switch event {
                case .text(let text): messages.append((false, String(decoding: text, as: UTF8.self)))
                case .compressed(true, let payload):
                    guard let text = try? inflater.inflate(payload, bytesMax: 1 << 20) else { return isBroken = true }
                    messages.append((true, String(decoding: text, as: UTF8.self)))
                default: isBroken = true
                }
            }
        }
        return failure == nil && !isBroken ? messages : nil
    }

    private func frame(_ pushes: [Push], seqs: ClosedRange<UInt64>?, unkept: Int = 0) -> SharedFrame {
        var writer = SharedFrameWriter([.json])
        for push in pushes { writer.append(push) }
        return writer.frame(.messages, keptSeqs: seqs, unkept: unkept)
    }

    private func message(_ seq: UInt64, _ text: String = "hello all, this is a song") -> Push {
        .message(SampleMessage.kept(seq, in: room, text))
    }

    @Test func `kept messages are in the stream, and any other line goes as it is, in its place`() throws {
        let inflater = try #require(Inflater(keepsContext: true))
        let unkept = Push.message(SampleMessage.unkept(after: 2, in: room, "enters"))
        let gap = Push.gap(GapPush(room: room, ranges: [SeqRange(from: 1, to: 1)], cause: .budget))
        let mixed = frame([message(1), message(2), unkept, message(3), gap], seqs: 1...3, unkept: 1)
        let step = try #require(stream.append(mixed, needsPrimer: true))
        #expect(step.primer == [])
        let all = try #require(read(step.bytes, by: inflater))
        #expect(all.map(\.isCompressed) == [true, false, true, false])
        let json = try #require(mixed.json)
        let payload = json[WebSocketFrameEncoder.headerCount(of: json)...]
        #expect(all.map(\.text).joined(separator: "\n") == String(decoding: payload, as: UTF8.self))

        var writer = SharedFrameWriter([.json])
        writer.append(message(9))
        let barrage = writer.frame(.barrage(.low), barrage: 1)
        // Nothing of these is in the stream, also where they name seqs.
        for frame in [
            frame([gap], seqs: 1...1), frame([unkept], seqs: nil, unkept: 1),
            barrage,
        ] { #expect(stream.append(frame, needsPrimer: true) == nil) }
        let next = try #require(stream.append(frame([message(4)], seqs: 4...4), needsPrimer: true))
        #expect(read(next.bytes, by: inflater)?.map(\.isCompressed) == [true])
        #expect(next.bytes.count < step.bytes.count / 2)
        // The primer has what is in the stream, and nothing else.
        let newcomer = try #require(Inflater(keepsContext: true))
        let primer = try #require(read(next.primer ?? [], by: newcomer))
        #expect(primer.map(\.text) == [all[0].text, all[2].text])
        let plain = frame([message(4)], seqs: 4...4).json ?? []
        #expect(read(next.bytes, by: newcomer)?.map(\.text) == read(plain, by: newcomer)?.map(\.text))
    }

    @Test func `messages that were taken back are shown to nobody any more`() throws {
        let secret = "the number of my card is 4000 1234"
        _ = stream.append(frame([message(1, secret)], seqs: 1...1), needsPrimer: true)
        var recall = SampleMessage.kept(2, in: room, "")
        recall.body = .notification(SampleMessage.recall)
        let frame = frame([message(2), .message(recall)], seqs: 2...3)
        let step = try #require(stream.append(frame, needsPrimer: true))
        #expect(step.primer == [], "there is nothing to be shown again")
        // Viewers that were in step and viewers that come now read on alike.
        let newcomer = try #require(Inflater(keepsContext: true))
        #expect(read(step.bytes, by: newcomer)?.count == 2)
        let next = try #require(
            stream.append(self.frame([message(4)], seqs: 4...4), needsPrimer: true))
        let late = try #require(Inflater(keepsContext: true))
        let primer = try #require(read(next.primer ?? [], by: late))
        #expect(primer.count == 1 && primer[0].text.contains("323"))
        #expect(read(next.bytes, by: newcomer)?.count == 1 && read(next.bytes, by: late)?.count == 1)

        // A text that looks like one takes nothing back.
        let text = #""event":323,\"event\":323"#
        _ = stream.append(self.frame([message(5, text)], seqs: 5...5), needsPrimer: false)
        #expect(stream.byteCount > 300)
    }

    @Test func `another life of the room begins the stream anew`() throws {
        for seq in 1...9 as ClosedRange<UInt64> {
            _ = stream.append(frame([message(seq)], seqs: seq...seq), needsPrimer: false)
        }
        let step = try #require(stream.append(frame([message(1)], seqs: 1...1), needsPrimer: true))
        #expect(step.primer == [])
    }

    @Test func `a chat needs less than a third of the bytes, and the window of a room some 5 KB`() throws {
        var (plain, compressed) = (0, 0)
        var most = 0
        for seq in 1...2000 as ClosedRange<UInt64> {
            let frame = frame([.message(SampleMessage.chat(seq, in: room))], seqs: seq...seq)
            plain += frame.json?.count ?? 0
            compressed += stream.append(frame, needsPrimer: false)?.bytes.count ?? .max
            most = max(most, stream.byteCount)
        }
        #expect(compressed * 3 < plain, "\(compressed) of \(plain)")
        #expect(most < 4096 + 600)
    }
}

/// Messages to be shown.
enum SampleMessage {
    static func kept(_ seq: UInt64, in room: RoomID, _ text: String) -> Message {
        Message(
            room: room, place: .kept(seq: seq), messageID: "1-\(seq)", time: Timestamp(1_795_241_875_303),
            from: nil, body: .text(text))
    }

    static func unkept(after seq: UInt64, in room: RoomID, _ text: String) -> Message {
        Message(
            room: room, place: .unkept(after: seq), messageID: "1.\(seq)", time: Timestamp(1_795_241_875_303),
            from: nil, body: .text(text))
    }

    static var recall: Notification {
        var notification = Notification(.recalled)
        notification.data = .recalled(messageIDs: ["1-1"])
        return notification
    }

    /// A text of 200 bytes by one of many users, as people chat: the same words, by number.
    static func chat(_ seq: UInt64, in room: RoomID) -> Message {
        var state = seq &* 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        // The low ones come more often.
        func word() -> String { words[min(next(words.count), next(words.count))] }
        var text = word()
        while text.utf8.count < 200 { text += " " + word() }
        var message = kept(seq, in: room, String(text.prefix(200)))
        message.time = Timestamp(1_795_241_875_303 + Int64(seq) * 97 + Int64(next(90)))
        let name = "user\(next(2000))"
        if let user = UserID(name) {
            message.from = Sender(user: user, profile: Profile(nick: name), role: .guest)
        }
        message.clientID = "c\(seq)-\(next(1_000_000))"
        return message
    }

    private static let words =
        """
        the to you it and that is in this what of so we he on for my just can are not with have like be your all love at \
        good one out up get now time who song play go great please hello lol wow nice stream win next thanks gift heart \
        haha welcome everybody game dance rocket amazing congratulations tonight fantastic absolutely
        """.split(separator: " ").map(String.init)
}
