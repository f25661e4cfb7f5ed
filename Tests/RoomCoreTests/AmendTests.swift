import ChatModel
import Testing

@testable import RoomCore

@Suite struct AmendTests {
    @discardableResult
    private static func post(
        _ it: inout Dialogue, _ body: MessageBody = .text("x"), by actor: Actor = member("bob"),
        _ change: (inout MessageDraft) -> Void = { _ in }
    ) throws -> Message {
        var draft = MessageDraft(body: body)
        change(&draft)
        return try #require(it.run(.post(draft), by: actor).shown.first)
    }

    @discardableResult
    private static func amend(
        _ it: inout Dialogue, _ message: Message, _ set: MessageChanges = MessageChanges(text: "y"),
        by actor: Actor = member("bob"), key: UInt64? = nil
    ) -> [Effect] {
        it.facts.amended = message
        defer { it.facts.amended = nil }
        return it.run(.amend(messageID: message.messageID, set: set), by: actor, key: key)
    }

    @Test func `the sender changes a message in its place, and everybody is told by one 360`() throws {
        var it = Dialogue()
        let message = try Self.post(&it) { ($0.priority, $0.ext, $0.mentions) = (.low, "e", [user("ann")]) }
        it.pass(seconds: 5)
        let effects = Self.amend(&it, message)
        var expected = message
        (expected.body, expected.editedAt) = (.text("y"), it.now)
        #expect(effects.result == .amended(expected) && effects.contains(.amend(expected)))
        let told = try #require(effects.shown.first)
        #expect(effects.shown.count == 1 && told.priority == .low && told.mentions.isEmpty && told.seq == 2)
        let notification = try #require(effects.notifications.first)
        #expect(notification.event == .amended && notification.operator?.user == user("bob"))
        #expect(notification.targets.map(\.user) == [user("bob")])
        let data = NotificationData.amended(
            messageID: message.messageID, seq: 1, set: MessageChanges(text: "y"), editedAt: it.now)
        #expect(notification.data == data)
        // Only what is set changes.
        let again = Self.amend(&it, expected, MessageChanges(ext: "f"))
        (expected.ext, expected.editedAt) = ("f", it.now)
        #expect(again.result == .amended(expected))
    }

    @Test func `its sender amends for a while, an app server any message at any time`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        for actor in [member("ann"), member("creator"), member("manager"), member("bob", anonymous: true)] {
            #expect(Self.amend(&it, message, by: actor).code == .forbidden, "\(actor)")
        }
        it.pass(seconds: 120)
        #expect(Self.amend(&it, message).error == nil, "at the edge")
        it.pass(milliseconds: 1)
        #expect(Self.amend(&it, message).code == .forbidden)
        let own = try Self.post(&it, by: member("creator"))
        it.pass(seconds: 121)
        #expect(Self.amend(&it, own, by: member("creator")).code == .forbidden)
        for actor in [.system, .server(UserName(user: user("ann"), nick: ""))] as [Actor] {
            #expect(Self.amend(&it, message, by: actor).error == nil)
            #expect(try Self.amend(&it, Self.post(&it, by: .system), by: actor).error == nil)
        }
        #expect(try Self.amend(&it, Self.post(&it, by: .system)).code == .forbidden, "the system's")
    }

    @Test func `it needs the right to send now, and slow mode counts it`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        it.run(.setMute(user("bob"), enable: true, NotifyOptions()), by: member("manager"))
        #expect(Self.amend(&it, message).code == .muted)
        it.run(.setMute(user("bob"), enable: false, NotifyOptions()), by: member("manager"))
        it.run(.muteRoom(enable: true, NotifyOptions()), by: member("manager"))
        #expect(Self.amend(&it, message).code == .roomMuted)
        it.run(.muteRoom(enable: false, NotifyOptions()), by: member("manager"))
        var set = RoomChanges()
        set.slowModeSeconds = 30
        it.run(.updateRoom(set: set, NotifyOptions()), by: member("manager"))
        #expect(Self.amend(&it, message).error == nil)
        #expect(Self.amend(&it, message).code == .tooOften)
        #expect(it.run(.post(MessageDraft(body: .text("z"))), by: member("bob")).code == .tooOften)
        it.pass(seconds: 30)
        #expect(Self.amend(&it, message).error == nil)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(Self.amend(&it, message).code == .roomClosed)
        #expect(Self.amend(&it, message, by: .system).code == .roomClosed)
    }

    @Test func `each type has what can be amended of it`() throws {
        var it = Dialogue()
        let media = Media(url: "u", name: "n", size: 1, contentType: "c")
        let bodies: [(MessageBody, MessageChanges, MessageBody?)] = [
            (.tip("x"), MessageChanges(text: "y"), .tip("y")), (.tip("x"), MessageChanges(content: "y"), nil),
            (.text("x"), MessageChanges(text: "y", content: "z"), nil), (.text("x"), MessageChanges(), nil),
            (
                .custom(content: "x", subtype: 3, searchable: "s"), MessageChanges(content: "y", ext: "e"),
                .custom(content: "y", subtype: 3, searchable: "s")
            ),
            (.custom(content: "x", subtype: 3, searchable: nil), MessageChanges(text: "y"), nil),
            (.image(media), MessageChanges(ext: "e"), .image(media)), (.image(media), MessageChanges(text: "y"), nil),
            (.location(latitude: 1, longitude: 2, title: "t"), MessageChanges(content: "y"), nil),
        ]
        for (body, set, expected) in bodies {
            let effects = try Self.amend(&it, Self.post(&it, body), set)
            guard let expected else {
                #expect(effects.code == .badParameter, "\(body) \(set)")
                continue
            }
            guard case .amended(let message)? = effects.result else { throw Refused() }
            #expect(message.body == expected && message.ext == set.ext)
        }
        let note = try #require(it.run(.muteRoom(enable: true, NotifyOptions()), by: member("manager")).shown.first)
        #expect(Self.amend(&it, note, MessageChanges(ext: "e"), by: .system).code == .forbidden)
    }

    @Test func `a recalled message is 409, and what is no kept message of this life is 404`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        var recalled = message
        recalled.body = .recalled(.text)
        #expect(Self.amend(&it, recalled).code == .conflict && Self.amend(&it, recalled, by: .system).code == .conflict)
        let blind = CommandBody.amend(messageID: message.messageID, set: MessageChanges(text: "y"))
        #expect(it.run(blind, by: .system).code == .notFound)
        for id in ["", "m", "1-1", message.messageID + "0"] {
            var other = message
            other.messageID = id
            #expect(Self.amend(&it, other).code == .notFound, "\(id)")
        }
        it.run(.deleteRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        for _ in 1...3 { try Self.post(&it) }
        #expect(Self.amend(&it, message, by: .system).code == .notFound)
    }

    @Test func `a repeat changes nothing, and names the message for its answer`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        #expect(Self.amend(&it, message, key: 1).events == [.amended])
        it.pass(seconds: 300)
        #expect(Self.amend(&it, message, key: 1) == [.result(.amendedBefore(messageID: message.messageID))])
    }

    @Test func `a message that its webhook does not get keeps its 360 from it, too`() throws {
        var it = Dialogue()
        it.facts.webhook = true
        let secret = try Self.post(&it) { $0.webhook = false }
        let effects = Self.amend(&it, secret)
        #expect(effects.shown.first?.webhook == false && !it.state.isOwing)
        let open = try Self.post(&it)
        #expect(it.state.webhook?.firstSeq == open.seq && Self.amend(&it, open).shown.first?.webhook == true)
    }

    @Test func `in a big room a 360 competes like its message, and its author is always shown it`() throws {
        func told(_ priority: Priority) -> Message {
            var notification = ChatModel.Notification(.amended)
            notification.operator = UserName(user: user("bob"), nick: "")
            var fields = MessageFields(
                room: nil, place: .kept(seq: 1), messageID: "m", time: Timestamp(0), from: nil,
                body: .notification(notification))
            fields.priority = priority
            return Message(fields)
        }
        var budget = ViewerBudget()
        // Whatever is shown of them, a second has no more than that; other notifications all find room.
        let audiences = (0..<100).map { _ in budget.audience(of: told(.normal), perSecond: 50, at: Timestamp(1_000)) }
        #expect(audiences.count { $0 == .everybody } < 50)
        #expect(audiences.allSatisfy { $0 == .everybody || $0 == .only([user("bob")]) || $0 == .only([]) })
        #expect(audiences.contains(.only([user("bob")])))
    }

    private struct Refused: Error {}
}
