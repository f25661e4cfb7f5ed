import ChatModel
import Testing

@testable import RoomCore

/// What the app's webhook is owed. That every state can be restored from its rows is checked by `Dialogue`.
struct WebhookTests {
    private static let text = CommandBody.post(MessageDraft(body: .text("hello")))
    private static var silent: CommandBody {
        var draft = MessageDraft(body: .text("hello"))
        draft.webhook = false
        return .post(draft)
    }

    /// A room that was made before there was a webhook.
    private static func room() -> Dialogue {
        var room = Dialogue()
        room.facts.webhook = true
        return room
    }

    private static func delivered(_ room: Dialogue, _ seq: UInt64, event: UInt64 = 0) -> CommandBody {
        .webhookDelivered(
            WebhookProgress(
                incarnation: room.state.incarnation ?? Incarnation(0), seq: seq, time: room.now, eventIndex: event))
    }

    @Test func `without a webhook nothing is owed`() {
        var room = Dialogue()
        room.run(Self.text, by: member("ann"))
        #expect(room.state.webhook == nil)
    }

    @Test func `the first kept message that is owed is written down, and those after it follow from it`() {
        var room = Self.room()
        let first = room.state.lastSeq + 1
        let owes = room.run(Self.text, by: member("ann"))
        let follows = room.run(Self.text, by: member("ann"))
        #expect(room.state.webhook?.firstSeq == first)
        #expect(room.state.webhook?.since == room.now)
        #expect(owes.contains { if case .catalogue(let row) = $0 { row.kind == .webhook } else { false } })
        #expect(!follows.contains { if case .catalogue(let row) = $0 { row.kind == .webhook } else { false } })
    }

    @Test func `a message that is kept from the webhook is not owed, and says so`() {
        var room = Self.room()
        let effects = room.run(Self.silent, by: member("ann"))
        #expect(room.state.webhook == nil)
        let isTold = effects.compactMap { if case .append(let message, _) = $0 { message.webhook } else { nil } }
        #expect(isTold == [false])
        room.run(Self.text, by: member("ann"))
        #expect(room.state.webhook?.firstSeq == room.state.lastSeq)
    }

    @Test func `unkept messages are not owed, notifications are`() {
        var room = Self.room()
        room.run(.post(MessageDraft(body: .command(payload: [1]))), by: member("ann"))
        #expect(room.state.webhook == nil)
        room.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        #expect(room.state.webhook?.firstSeq == room.state.lastSeq)
    }

    @Test func `what is delivered is forgotten, up to there and no further`() {
        var room = Self.room()
        for _ in 0..<3 { room.run(Self.text, by: member("ann")) }
        let last = room.state.lastSeq
        room.run(Self.delivered(room, last - 3), by: .system)
        #expect(room.state.webhook?.firstSeq == last - 2)
        room.run(Self.delivered(room, last - 1), by: .system)
        #expect(room.state.webhook?.firstSeq == last)
        room.run(Self.delivered(room, last - 2), by: .system)
        #expect(room.state.webhook?.firstSeq == last)
        let effects = room.run(Self.delivered(room, last), by: .system)
        #expect(room.state.webhook == nil)
        #expect(
            effects.contains {
                if case .catalogue(let row) = $0 { row.kind == .webhook && row.value == nil } else { false }
            })
    }

    @Test func `openings and closings are owed behind the messages that they follow`() {
        var room = Self.room()
        room.run(Self.text, by: member("ann"))
        room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        let closed = room.index
        room.run(.closeRoom(NotifyOptions()), by: .system)
        room.run(.reopenRoom, by: .system)
        let events = room.state.webhook?.events ?? []
        #expect(events.map(\.kind) == [.closed, .reopened])
        #expect(events.map(\.after) == [room.state.lastSeq, room.state.lastSeq])
        room.run(Self.delivered(room, 0, event: closed), by: .system)
        #expect(room.state.webhook?.events.map(\.kind) == [.reopened])
    }

    @Test func `a deletion says what was lost with the room, and a new room of that ID owes it still`() {
        var room = Self.room()
        room.run(Self.text, by: member("ann"))
        let first = room.state.lastSeq
        room.run(Self.text, by: member("ann"))
        let old = Self.delivered(room, 100)
        room.run(.deleteRoom, by: .system)
        #expect(room.state.webhook?.events.map(\.lostFrom) == [first])
        #expect(room.state.webhook?.events.map(\.lostTo) == [first + 1])
        #expect(room.state.webhook?.since == Timestamp(0), "a replica that is restored knows nothing else")
        room.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        room.run(Self.text, by: member("ann"))
        room.run(old, by: .system)
        #expect(room.state.webhook?.firstSeq == 1)
        #expect(room.state.webhook?.events.map(\.kind) == [.deleted, .created])
        room.run(Self.delivered(room, 1, event: room.index), by: .system)
        #expect(room.state.webhook == nil)
    }

    @Test func `what a deleted room owes stays owed, with its life, until it is delivered`() throws {
        var room = Self.room()
        room.facts.owesPast = true
        room.run(Self.text, by: member("ann"))
        let (life, first) = (try #require(room.state.incarnation), room.state.lastSeq)
        room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        room.run(.reopenRoom, by: .system)
        for _ in 0..<3 { room.run(Self.text, by: member("ann")) }
        let last = room.state.lastSeq
        room.run(.deleteRoom, by: .system)
        #expect(room.state.webhook?.events.map(\.after) == [first, first, last])
        #expect(room.state.webhook?.events.allSatisfy { $0.life == life } == true)
        #expect(room.state.owedMessages(ofPast: life) == first...last)
        func past(_ seq: UInt64, event: UInt64 = 0) -> WebhookProgress {
            WebhookProgress(incarnation: life, seq: seq, time: room.now, eventIndex: event)
        }
        // The next life has seqs of its own.
        room.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        room.run(Self.text, by: member("ann"))
        #expect(!room.state.knowsDelivered(past(first)))
        room.run(.webhookDelivered(past(first)), by: .system)
        #expect(room.state.owedMessages(ofPast: life) == first + 1...last)
        #expect(room.state.knowsDelivered(past(first)) && room.state.webhook?.firstSeq == 1)
        room.run(.webhookDelivered(past(last)), by: .system)
        #expect(room.state.owedMessages(ofPast: life) == nil)
        #expect(room.state.webhook?.events.map(\.kind) == [.closed, .reopened, .deleted, .created])
        room.run(Self.delivered(room, 1, event: room.index), by: .system)
        #expect(room.state.webhook == nil)
    }

    @Test func `a life that ended before deletions said which it was is not taken for the next one`() throws {
        var room = Self.room()
        for _ in 0..<3 { room.run(Self.text, by: member("ann")) }
        room.run(.deleteRoom, by: .system)
        room.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        room.run(Self.text, by: member("ann"))
        let life = try #require(room.state.incarnation)
        room.facts.owesPast = true
        room.run(.deleteRoom, by: .system)
        let events = room.state.webhook?.events ?? []
        #expect(events.map(\.kind) == [.deleted, .created, .deleted])
        #expect(events.map(\.life) == [RoomLifeEvent.unknownLife, life, life])
        #expect(events.map(\.isLoss) == [true, false, false])
        #expect(room.state.owedMessages(ofPast: life) == 1...1)
        #expect(room.state.owedMessages(ofPast: RoomLifeEvent.unknownLife) == nil)
    }

    @Test func `a life that ends twice owes what was said before each end`() throws {
        var room = Self.room()
        (room.facts.owesPast, room.facts.keepDeletedSeconds) = (true, 60)
        room.run(Self.text, by: member("ann"))
        let (life, first) = (try #require(room.state.incarnation), room.state.lastSeq)
        room.run(.deleteRoom, by: .system)
        room.run(.undeleteRoom, by: .system)
        #expect(room.state.webhook?.firstSeq == 0 && room.state.owedMessages(ofPast: life) == first...first)
        room.run(.reopenRoom, by: .system)
        room.run(Self.text, by: member("ann"))
        let last = room.state.lastSeq
        #expect(room.state.webhook?.firstSeq == first + 1)
        room.run(.deleteRoom, by: .system)
        #expect(room.state.owedMessages(ofPast: life) == first...last)
        room.run(
            .webhookDelivered(WebhookProgress(incarnation: life, seq: first, time: room.now, eventIndex: 0)),
            by: .system)
        #expect(room.state.owedMessages(ofPast: life) == first + 1...last)
    }

    @Test func `beyond the bound the oldest opening is forgotten and counted`() {
        var room = Self.room()
        for _ in 0..<WebhookRecord.eventsMax / 2 {
            room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
            room.run(.reopenRoom, by: .system)
        }
        #expect(room.state.webhook?.events.count == WebhookRecord.eventsMax)
        #expect(room.state.webhook?.forgotten == 0)
        room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        #expect(room.state.webhook?.events.count == WebhookRecord.eventsMax)
        #expect(room.state.webhook?.events.first?.kind == .reopened)
        #expect(room.state.webhook?.forgotten == 1)
        room.run(Self.delivered(room, 0, event: room.index), by: .system)
        #expect(room.state.webhook == nil)
    }

    /// A room that has forgotten so many openings and closings.
    private static func forgetful(_ count: Int) -> Dialogue {
        var room = room()
        for number in 0..<WebhookRecord.eventsMax + count {
            room.run(number.isMultiple(of: 2) ? .closeRoom(NotifyOptions(notify: false)) : .reopenRoom, by: .system)
        }
        return room
    }

    private static func told(_ room: Dialogue, _ count: Int64, event: UInt64 = 0) -> WebhookProgress {
        var progress = WebhookProgress(
            incarnation: room.state.incarnation ?? Incarnation(0), time: room.now, eventIndex: event)
        progress.noteForgotten(of: room.state.webhook)
        progress.forgotten = count
        return progress
    }

    @Test func `what was forgotten is told once, also when that is written down twice or without an event`() {
        var room = Self.forgetful(4)
        #expect(room.state.webhook?.forgotten == 4 && !room.state.knowsDelivered(Self.told(room, 4)))
        let told = Self.told(room, 4)
        room.run(.webhookDelivered(told), by: .system)
        #expect(room.state.webhook?.toldForgotten == 4 && room.state.knowsDelivered(told))
        room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        room.run(.reopenRoom, by: .system)
        #expect(room.state.webhook?.forgotten == 6 && room.state.knowsDelivered(told))
        room.run(.webhookDelivered(told), by: .system)
        #expect(room.state.webhook?.toldForgotten == 4, "two are still to be told")
        #expect(!room.state.knowsDelivered(Self.told(room, 6)))
    }

    @Test func `what is forgotten while others are delivered is told with the next`() {
        var room = Self.forgetful(4)
        let last = room.index
        room.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        room.run(.webhookDelivered(Self.told(room, 4, event: last)), by: .system)
        #expect(room.state.webhook?.forgotten == 5 && room.state.webhook?.toldForgotten == 4)
        #expect(room.state.webhook?.events.count == 1)
        let all = Self.told(room, 5, event: room.index)
        room.run(.webhookDelivered(all), by: .system)
        #expect(room.state.webhook == nil)
        // It says nothing of what is forgotten from here on, however late it is written down once more.
        for number in 0..<WebhookRecord.eventsMax + 3 {
            room.run(number.isMultiple(of: 2) ? .reopenRoom : .closeRoom(NotifyOptions(notify: false)), by: .system)
        }
        #expect(room.state.webhook?.forgotten == 3)
        room.run(.webhookDelivered(all), by: .system)
        #expect(room.state.webhook?.toldForgotten == 0 && room.state.webhook?.forgotten == 3)
    }
}
