import BotSwarmCore
import Testing

@Suite struct BudgetLedgerTests {
    /// Seq 1 by viewer 0 is shown to some and named to others.
    private func findings(people: Int, shownTo: [Int], namedTo: [Int]) throws -> [Finding.Kind: Int] {
        var room = try LedgerFixture(viewers: 3, budget: BudgetRule(people: people))
        let history = [room.say(1, to: shownTo)]
        for index in namedTo { _ = room.gap(index, [1...1], .budget) }
        return room.close(history: history)
    }

    @Test func `in a room up to the limit nothing is left out`() throws {
        #expect(try findings(people: 1_000, shownTo: [0, 1, 2], namedTo: []) == [:])
        #expect(try findings(people: 1_000, shownTo: [0, 1], namedTo: [2])[.wrongBudget] != nil)
    }

    @Test func `above it the same is left out for all but the sender`() throws {
        #expect(try findings(people: 1_001, shownTo: [0], namedTo: [1, 2]) == [:])
        #expect(try findings(people: 1_001, shownTo: [0, 1], namedTo: [2]) == [.wrongBudget: 1])
    }

    @Test func `a viewer's own message is never left out`() throws {
        #expect(try findings(people: 1_001, shownTo: [], namedTo: [0, 1, 2]) == [.wrongBudget: 1])
    }
}
