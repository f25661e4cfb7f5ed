import BotSwarmCore
import ChatModel
import Testing

@Suite struct GapLedgerTests {
    @Test func `a budget gap after the messages it concerns explains holes`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        history += [room.say(2, to: [0]), room.say(3, to: [0]), room.say(4), room.say(5, to: [0]), room.say(6)]
        // The ranges may cover what the viewer did receive.
        #expect(room.gap(1, [2...5], .budget) == [])
        #expect(room.ledger.isSettled())
        #expect(room.close(history: history) == [:])
        #expect(room.ledger.totals.namedByBudget == 3)
    }

    @Test func `a gap that names too little leaves a hole`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        history += [room.say(2, to: [0]), room.say(3, to: [0]), room.say(4)]
        _ = room.gap(1, [2...2], .budget)
        #expect(room.close(history: history) == [.hole: 1])
    }

    @Test func `a slow gap ahead moves the position and is fetched`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        history += [room.say(2, to: [0]), room.say(3, to: [0]), room.say(4, to: [0])]
        #expect(room.gap(1, [2...4], .slow) == [2...4])
        history.append(room.say(5))
        #expect(room.ledger.fetch(room.viewers[1], 2...4, page: Array(history[1...2])) == 4...4)
        #expect(room.ledger.fetch(room.viewers[1], 4...4, page: Array(history[3...4])) == nil)
        #expect(room.close(history: history) == [:])
        #expect(room.ledger.totals.foundAfterGap == 3)
        #expect(room.ledger.totals.namedBySlow == 3)
    }

    @Test func `a slow gap that begins later leaves what is before it a hole`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        history += [room.say(2, to: [0]), room.say(3, to: [0]), room.say(4, to: [0])]
        #expect(room.gap(1, [3...4], .slow) == [3...4])
        #expect(room.close(history: history) == [.hole: 1])
    }

    @Test func `a gap of what history does not have does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.say(1)
        #expect(room.gap(0, [2...3], .slow) == [2...3])
        #expect(room.ledger.fetch(room.viewers[0], 2...3, page: []) == nil)
        #expect(room.ledger.findings.counts == [.notInHistory: 1])
        #expect(room.close(history: [first]) == [.notInHistory: 2])
    }

    @Test func `a gap beyond the end of the room does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.say(1)
        _ = room.gap(0, [2...9], .budget)
        #expect(room.close(history: [first]) == [.notInHistory: 1])
    }

    @Test func `a message after the gap that names it is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2, to: [0])]
        _ = room.gap(1, [2...2], .slow)
        room.receive(history[1], 1)
        #expect(room.close(history: history) == [.duplicate: 1])
    }

    @Test func `what a budget gap names is not fetched, and must be in history at the end`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2, to: [0]), room.say(3, to: [0]), room.say(4)]
        #expect(room.gap(1, [2...3], .budget) == [])
        #expect(room.close(history: Array(history.prefix(2)) + [history[3]], end: 4)[.notInHistory] == 4)
    }

    @Test func `a message after the budget gap that names it is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2, to: [0]), room.say(3, to: [0])]
        _ = room.gap(1, [2...3], .budget)
        room.receive(history[1], 1)
        #expect(room.close(history: history) == [.duplicate: 1])
    }

    @Test func `budget gaps come once a second, give or take how long they were on their way`() throws {
        var room = try LedgerFixture(viewers: 1)
        let history = [room.say(1)]
        for second in 0..<10 {
            room.now = UInt64(1 + second) * 1_000_000_000
            _ = room.gap(0, [1...1], .budget)
        }
        _ = room.gap(0, [1...1], .budget)
        _ = room.gap(0, [1...1], .budget)
        #expect(room.ledger.findings.counts == [:])
        _ = room.gap(0, [1...1], .budget)
        #expect(room.close(history: history) == [.tooOften: 1])
    }

    @Test func `more holes than can be noted are a finding, and memory stays bounded`() throws {
        var room = try LedgerFixture(viewers: 1)
        for index in 1...(SeqSet.rangesMax + 2) {
            let n = room.send(.kept)
            room.receive(room.kept(n, UInt64(index * 2)), 0)
        }
        #expect(room.ledger.findings.counts == [.hole: 2])
        #expect(room.ledger.book(of: room.viewers[0]).holes.ranges.count == SeqSet.rangesMax)
    }
}

@Suite struct SeqSetTests {
    @Test func `removing gives back what was in and keeps the rest`() {
        var set = SeqSet()
        #expect(set.append(2...4) && set.append(8...9))
        #expect(set.remove(3...8) == [3...4, 8...8])
        #expect(set.ranges == [2...2, 9...9])
        #expect(set.remove(5...7) == [])
        #expect(set.count == 2)
    }

    @Test func `adjacent ranges become one`() {
        var set = SeqSet()
        #expect(set.append(2...4) && set.append(5...6))
        #expect(set.ranges == [2...6])
        #expect(set.contains(5) && !set.contains(7))
    }
}
