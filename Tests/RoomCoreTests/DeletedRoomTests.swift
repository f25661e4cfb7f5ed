import ChatModel
import Testing

@testable import RoomCore

/// A deleted room that can be restored (PROTOCOL.md, "Deleting a room"). After each command `Dialogue` compares the room
/// with one that is restored from its rows.
@Suite struct DeletedRoomTests {
    private static let day: Int64 = 86_400

    /// A room with members, messages, a queue and robots, which is then deleted.
    private func deleted(_ seconds: Int64 = Self.day) -> Dialogue {
        var it = Dialogue()
        it.facts.webhook = true
        it.run(.post(MessageDraft(body: .text("a"))), by: member("normal"), key: 1)
        it.run(set("song", transient: false), by: .system)
        it.run(set("seat", transient: true), by: .system)
        it.run(.addRobots([Robot(user: user("robot"))]), by: .system)
        it.run(.tempMute(user("loud"), seconds: 600, NotifyOptions()), by: .system)
        it.facts.keepDeletedSeconds = seconds
        it.run(.deleteRoom, by: .system)
        return it
    }

    private func set(_ key: String, transient: Bool) -> CommandBody {
        .queueSet(
            QueueWrite(key: key, value: "v", owner: user("normal"), transient: transient),
            NotifyOptions(notify: false))
    }

    @Test func `a deleted room is not there for anybody, and everybody was put out`() {
        var it = Dialogue()
        it.facts.keepDeletedSeconds = Self.day
        let effects = it.run(.deleteRoom, by: .system)
        #expect(effects.contains(.kickAll(reason: .roomClosed, ext: nil)))
        #expect(!effects.contains { if case .retire = $0 { true } else { false } })
        #expect(!it.state.exists && it.state.isKeptDeleted && it.state.incarnation == nil)
        #expect(it.run(.post(MessageDraft(body: .text("a"))), by: .system).code == .notFound)
        #expect(it.run(.deleteRoom, by: .system).code == .notFound)
        #expect(it.run(.reopenRoom, by: .system).code == .notFound)
        #expect(it.state.role(of: user("manager")) == .guest)
    }

    @Test func `it comes back closed, in the same life, with members, seqs and what of the queue lasts`() {
        var it = deleted()
        let before = it.state.deleted?.record.room
        let effects = it.run(.undeleteRoom, by: .system, key: 9)
        guard case .room(let info)? = effects.result else {
            Issue.record("no room")
            return
        }
        #expect(info.closed && info == it.state.info)
        #expect(it.state.incarnation == before?.incarnation && it.state.lastSeq == before?.lastSeq)
        #expect(it.state.role(of: user("manager")) == .manager)
        #expect(it.state.queue.elements.map(\.key) == ["song"])
        #expect(it.state.robotCount == 0 && !it.state.isKeptDeleted)
        #expect(it.state.webhook?.events.map(\.kind) == [.deleted, .undeleted])
        // A repeat gets the first answer.
        #expect(it.run(.undeleteRoom, by: .system, key: 9).count == 1)
        #expect(it.run(.undeleteRoom, by: .system).code == .conflict)
        it.run(.reopenRoom, by: .system)
        let lastSeq = it.state.lastSeq
        #expect(it.run(.post(MessageDraft(body: .text("b"))), by: member("normal")).shown.first?.seq == lastSeq + 1)
    }

    /// As after closing: whoever goes on from a `since` of before has the queue right.
    @Test func `a 320 in its history tells which elements have gone, and people are put out after it`() throws {
        var it = Dialogue()
        it.run(set("song", transient: false), by: .system)
        it.run(set("seat", transient: true), by: .system)
        it.run(set("hand", transient: true), by: .system)
        (it.facts.keepDeletedSeconds, it.facts.tellsGoneElements) = (Self.day, true)
        let lastSeq = it.state.lastSeq
        let effects = it.run(.deleteRoom, by: .system)
        #expect(effects.shown.map(\.seq) == [lastSeq + 1])
        guard case .notification(let told)? = effects.shown.first?.body,
            case .queueBatch(.partClear, let elements) = told.data
        else { throw ChatError(.internal, "no 320") }
        #expect(elements.map(\.key).sorted() == ["hand", "seat"])
        #expect(effects.contains(.kickAll(reason: .roomClosed, ext: nil)))
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.lastSeq == lastSeq + 1 && it.state.queue.elements.map(\.key) == ["song"])
    }

    @Test func `the webhook gets that 320 before it hears of the deletion, and the next life owes its own`() throws {
        var it = Dialogue()
        (it.facts.webhook, it.facts.owesPast) = (true, true)
        it.run(set("seat", transient: true), by: .system)
        (it.facts.keepDeletedSeconds, it.facts.tellsGoneElements) = (Self.day, true)
        it.run(.deleteRoom, by: .system)
        #expect(it.state.webhook?.firstSeq == 0)
        #expect(it.state.webhook?.events.last?.after == it.state.deleted?.record.room.lastSeq)
        it.facts.tellsGoneElements = false
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        it.run(.post(MessageDraft(body: .text("a"))), by: member("normal"))
        #expect(it.state.webhook?.firstSeq == 1)
    }

    @Test func `its 320 is in the files of the room's own life`() throws {
        var room = RoomChanges()
        room.historyDays = 100
        var it = Dialogue(set: room)
        it.run(set("seat", transient: true), by: .system)
        let life = it.state.life(on: it.now.day)
        #expect(life == .year)
        (it.facts.keepDeletedSeconds, it.facts.tellsGoneElements) = (Self.day, true)
        it.run(.deleteRoom, by: .system)
        #expect(it.state.life(on: it.now.day) == life)
    }

    @Test func `a post of before is remembered after it`() {
        var it = deleted()
        it.run(.undeleteRoom, by: .system)
        it.run(.reopenRoom, by: .system)
        let again = it.run(.post(MessageDraft(body: .text("a"))), by: member("normal"), key: 1)
        guard case .posted(_, .kept(let seq), _, _, _)? = again.result else {
            Issue.record("not posted")
            return
        }
        #expect(seq < it.state.lastSeq && again.count == 1)
    }

    @Test func `while it is deleted nothing of it ends but itself, and what ends meanwhile ends when it is back`() {
        var it = deleted()
        let purgeAt = it.now.adding(seconds: Self.day)
        #expect(it.store.deadlines.filter { $0 > it.now.adding(seconds: 3_600) } == [purgeAt])
        it.pass(seconds: 700)
        #expect(it.run(.expire, by: .system).shown.isEmpty)
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.nextDeadline.map { $0 <= it.now } == true)
        #expect(it.run(.expire, by: .system).events == [.temporaryMuteLifted])
    }

    @Test func `when its time is over it is gone with all its rows, and can't be had back any more`() {
        var it = deleted()
        let life = it.state.deleted?.record.room.incarnation
        it.pass(seconds: Self.day - 1)
        #expect(it.run(.expire, by: .system).result == .done)
        #expect(it.state.isKeptDeleted)
        it.pass(seconds: 1)
        #expect(it.run(.undeleteRoom, by: .system).code == .notFound)
        #expect(it.run(.expire, by: .system).contains { $0 == life.map { .retire($0) } })
        #expect(!it.state.isKeptDeleted)
        // The row of the debt to the webhook is left.
        #expect(it.store.rowCount == 1)
    }

    @Test func `purging ends the wait, or the room with it, and is not for clients`() {
        var it = deleted()
        #expect(it.run(.purgeRoom, by: member("creator")).code == .forbidden)
        #expect(it.run(.undeleteRoom, by: member("creator")).code == .forbidden)
        #expect(it.run(.purgeRoom, by: .system).contains { if case .retire = $0 { true } else { false } })
        #expect(it.run(.undeleteRoom, by: .system).code == .notFound)
        #expect(it.run(.purgeRoom, by: .system).code == .notFound)
        var other = Dialogue()
        other.facts.keepDeletedSeconds = Self.day
        #expect(other.run(.purgeRoom, by: .system).contains { if case .retire = $0 { true } else { false } })
        #expect(!other.state.exists && !other.state.isKeptDeleted)
    }

    @Test func `taking the ID again ends it, and nothing of it is in the new room`() {
        var it = deleted()
        let life = it.state.deleted?.record.room.incarnation
        let effects = it.run(.createRoom(creator: user("eve"), set: RoomChanges()), by: .system)
        #expect(effects.contains { $0 == life.map { .retire($0) } })
        #expect(it.state.incarnation != life && it.state.lastSeq == 0)
        #expect(it.state.role(of: user("manager")) == .guest && it.state.queue.count == 0)
        #expect(it.run(.undeleteRoom, by: .system).code == .conflict)
        #expect(it.run(.post(MessageDraft(body: .text("a"))), by: member("eve"), key: 1).shown.count == 1)
        // And the new one can be deleted and had back itself.
        it.run(.deleteRoom, by: .system)
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.info?.creator == user("eve"))
    }

    @Test func `a room that was closed is had back closed, and one may be deleted and had back again and again`() {
        var it = Dialogue()
        it.facts.keepDeletedSeconds = Self.day
        it.run(.closeRoom(NotifyOptions()), by: .system)
        for _ in 0..<3 {
            it.run(.deleteRoom, by: .system)
            it.pass(seconds: 10)
            #expect(it.run(.undeleteRoom, by: .system).result != .done)
            #expect(it.state.info?.closed == true)
        }
    }

    @Test func `without the fact a room is gone at once, as entries of before say`() {
        var it = Dialogue()
        let effects = it.run(.deleteRoom, by: .system)
        #expect(effects.contains { if case .retire = $0 { true } else { false } })
        #expect(it.run(.undeleteRoom, by: .system).code == .notFound)
    }
}
