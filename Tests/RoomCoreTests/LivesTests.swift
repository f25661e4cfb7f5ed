import ChatModel
import Testing

@testable import RoomCore

/// How long a room's messages are visible: its own `historyDays`, and what is gone for good.
@Suite struct LivesTests {
    private static let day = Timestamp.millisecondsPerDay

    private static func update(_ days: Int64) -> CommandBody {
        var set = RoomChanges()
        set.historyDays = days
        return .updateRoom(set: set, NotifyOptions())
    }

    private static func visible(_ it: Dialogue) -> Int64 {
        let since = it.state.visibleSince(it.now, standardDays: 10) ?? it.now
        return it.now.milliseconds(since: since) / day
    }

    @Test func `only the server API sets it, from 1 to 3650 days`() {
        var it = Dialogue()
        #expect(Self.visible(it) == 10)
        #expect(it.run(Self.update(30), by: .system).error == nil)
        #expect(it.state.info?.historyDays == 30)
        it.run(Self.update(99), by: member("creator"))
        #expect(it.state.info?.historyDays == 30)
        for days in [0, -1, 3651] as [Int64] {
            #expect(it.run(Self.update(days), by: .system).code == .badParameter)
        }
    }

    @Test func `lowering is at once, and raising revives nothing`() {
        var it = Dialogue()
        it.run(Self.update(30), by: .system)
        // Messages older than the former ten days are gone.
        #expect(Self.visible(it) == 10)
        it.now = it.now.adding(milliseconds: 25 * Self.day)
        #expect(Self.visible(it) == 30)
        it.run(Self.update(2), by: .system)
        #expect(Self.visible(it) == 2)
        it.run(Self.update(100), by: .system)
        #expect(Self.visible(it) == 2)
        it.now = it.now.adding(milliseconds: 5 * Self.day)
        #expect(Self.visible(it) == 7)
    }

    @Test func `files are of the new life from the next day on`() {
        var set = RoomChanges()
        set.historyDays = 1
        var it = Dialogue(set: set)
        let today = it.now.day
        #expect(it.state.life(on: today) == .day && it.state.life(on: 0) == .day)
        it.run(Self.update(20), by: .system)
        it.run(Self.update(200), by: .system)
        #expect(it.state.life(on: today) == .day && it.state.life(on: today + 1) == .year)
        // Back again on the same day: nothing changes.
        it.run(Self.update(1), by: .system)
        #expect(it.state.life(on: today + 1) == .day)
        let before = it.state
        it.run(Self.update(1), by: .system)
        #expect(it.state.life(on: today + 1) == .day && before.info == it.state.info)
    }

    @Test func `a room that changes it every day is refused at the bound, and forgets what no file is left of`() {
        var it = Dialogue()
        var refused = 0
        for number in 0..<70 {
            it.now = it.now.adding(milliseconds: Self.day)
            if it.run(Self.update(number.isMultiple(of: 2) ? 30 : 5), by: .system).code == .conflict { refused += 1 }
        }
        #expect(refused > 0)
        it.now = it.now.adding(milliseconds: 3_700 * Self.day)
        #expect(it.run(Self.update(7), by: .system).error == nil)
    }
}
