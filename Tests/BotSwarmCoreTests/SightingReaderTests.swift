import BotSwarmCore
import ChatModel
import Testing

@Suite struct SightingReaderTests {
    private let reader: SightingReader

    init() throws { reader = SightingReader(names: try #require(BotNames(run: "k3"))) }

    private func message(_ place: MessagePlace, _ body: MessageBody, from user: String? = "bot-k3-7") -> Message {
        let sender = user.flatMap { UserID($0) }.map { Sender(user: $0, profile: Profile(), role: .guest) }
        return Message(
            room: RoomID("r"), place: place, messageID: "m1", time: Timestamp(1), from: sender, body: body)
    }

    @Test func `a bot's text is its claim`() {
        let text = reader.names.text(of: BotID(7), 3, bytes: 50)
        let sighting = reader.kept(message(.kept(seq: 9), .text(text)))
        #expect(
            sighting
                == KeptSighting(
                    seq: 9, messageID: Fingerprint("m1"), body: Fingerprint(text),
                    origin: .bot(Claim(bot: BotID(7), n: 3)), time: Timestamp(1)))
        #expect(reader.unkept(message(.kept(seq: 9), .text(text))) == nil)
        #expect(reader.unkept(message(.unkept(after: 4), .text(text)))?.after == 4)
        #expect(reader.kept(message(.unkept(after: 4), .text(text))) == nil)
        #expect(reader.kept(message(.outside, .text(text))) == nil)
    }

    @Test func `what no bot can have sent is foreign`() {
        let text = reader.names.text(of: BotID(7), 3, bytes: 50)
        let messages = [
            message(.kept(seq: 9), .text(text), from: "bot-k3-8"), message(.kept(seq: 9), .text(text), from: nil),
            message(.kept(seq: 9), .text("hello")), message(.kept(seq: 9), .tip(text)),
            message(.kept(seq: 9), .recalled(.text)),
        ]
        for message in messages { #expect(reader.kept(message)?.origin == .foreign) }
    }

    @Test func `a notification is the room's`() {
        let entered = Notification(.enter)
        let updated = Notification(.roomInfoUpdated)
        #expect(
            reader.unkept(message(.unkept(after: 1), .notification(entered), from: nil))?.origin
                == .notification(.other(301)))
        let first = reader.kept(message(.kept(seq: 2), .notification(updated), from: nil))
        #expect(first?.origin == .notification(.other(312)))
        #expect(first?.body != reader.unkept(message(.unkept(after: 1), .notification(entered)))?.body)
    }
}
