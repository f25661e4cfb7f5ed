import ChatModel
import Testing

@testable import RoomCore

/// Idle close, and the sweeping of results that nobody asks for (ARCHITECTURE.md, "Time").
@Suite struct IdleCloseTests {
    private static func room(closing seconds: Int64) -> Dialogue {
        var set = RoomChanges()
        set.idleCloseSeconds = seconds
        return Dialogue(set: set)
    }

    private static func roomRow(_ effects: [Effect]) -> CatalogueChange? {
        for case .catalogue(let change) in effects where change.kind == .room { return change }
        return nil
    }

    @Test func `a room that nobody enters closes on time and not before`() {
        var it = Self.room(closing: 60)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 60))
        it.pass(milliseconds: 59_999)
        #expect(it.run(.expire, by: .system).events.isEmpty)
        #expect(it.state.info?.closed == false)
        it.pass(milliseconds: 1)
        let effects = it.run(.expire, by: .system)
        #expect(effects.events == [.roomClosed])
        #expect(effects.contains(.kickAll(reason: .roomClosed, ext: nil)))
        #expect(it.state.info?.closed == true && it.state.nextDeadline == nil)
    }

    @Test func `somebody inside cancels it, and it counts from the last exit`() {
        var it = Self.room(closing: 60)
        it.run(.occupancy(emptySince: nil), by: .system)
        #expect(it.state.nextDeadline == nil)
        it.pass(seconds: 3600)
        #expect(it.run(.expire, by: .system).events.isEmpty)
        it.run(.occupancy(emptySince: it.now.adding(seconds: -10)), by: .system)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 50))
    }

    @Test func `the row brings the room back to its leader in time`() throws {
        var it = Self.room(closing: 60)
        let empty = it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        #expect(Self.roomRow(empty)?.deadline == it.now.adding(seconds: 60))
        let occupied = it.run(.occupancy(emptySince: nil), by: .system)
        #expect(Self.roomRow(occupied)?.deadline == .atNewLeader)
        let closed = it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(try #require(Self.roomRow(closed)).deadline == nil)
    }

    @Test func `reopening and a new duration begin anew`() {
        var it = Self.room(closing: 60)
        it.pass(seconds: 60)
        it.run(.expire, by: .system)
        it.pass(seconds: 100)
        it.run(.reopenRoom, by: .system)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 60))
        it.pass(seconds: 30)
        var set = RoomChanges()
        set.idleCloseSeconds = 10
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 10))
        set.idleCloseSeconds = 0
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.state.nextDeadline == nil)
    }

    @Test func `results are swept a minute after they are forgotten, also when the room is gone`() {
        var it = Dialogue()
        for key in 1...20 { it.run(.muteRoom(enable: key % 2 == 1, NotifyOptions()), by: .system, key: UInt64(key)) }
        let due = it.now.adding(seconds: 660)
        #expect(it.state.nextDeadline == due)
        it.run(.deleteRoom, by: .system)
        #expect(it.state.nextDeadline == due)
        it.pass(seconds: 660)
        let gone = it.run(.expire, by: .system).rows
        #expect(gone.count == 20 && gone.allSatisfy { $0.kind == .command && $0.value == nil })
        #expect(it.state.nextDeadline == nil)
    }

    @Test func `a transient element's row brings its room to a new leader`() {
        var it = Dialogue()
        func set(_ transient: Bool) -> CommandBody {
            .queueSet(QueueWrite(key: "seat", value: "v", transient: transient), NotifyOptions())
        }
        #expect(it.run(set(true), by: member("bob")).rows.first?.deadline == .atNewLeader)
        #expect(it.run(set(false), by: member("bob")).rows.first?.deadline == nil)
    }
}
