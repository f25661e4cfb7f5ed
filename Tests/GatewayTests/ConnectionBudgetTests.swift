import Testing
import Transport

@testable import Gateway

@Suite struct ConnectionBudgetTests {
    private func taken(_ budget: ConnectionBudget, _ address: String, of count: Int) throws -> Int {
        let address = try #require(IPAddress(address))
        return (0..<count).count { _ in budget.take(address) }
    }

    @Test func `an address has 10,000 connections by default, and loopback as many as it likes`() throws {
        let budget = ConnectionBudget(ConnectionLimits())
        #expect(try taken(budget, "192.0.2.1", of: 10_001) == 10_000)
        #expect(try taken(budget, "2001:db8::1", of: 10_001) == 10_000)
        #expect(try taken(budget, "2001:db8::2", of: 1) == 0, "the same /64")
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            #expect(try taken(budget, address, of: 10_001) == 10_001)
        }
        budget.give(try #require(IPAddress("192.0.2.1")).holder)
        #expect(try taken(budget, "192.0.2.1", of: 2) == 1)
    }

    @Test func `a number that an operator has chosen holds for loopback, too`() throws {
        var limits = ConnectionLimits()
        (limits.perAddressMax, limits.exemptsLoopback) = (3, false)
        #expect(try taken(ConnectionBudget(limits), "127.0.0.1", of: 5) == 3)
    }

    @Test func `the first refusal is the only one until there are other limits`() {
        let budget = ConnectionBudget(ConnectionLimits())
        #expect(budget.noteRefusal())
        #expect(!budget.noteRefusal())
        budget.set(ConnectionLimits())
        #expect(budget.noteRefusal())
    }

    @Test func `a full node is told of once, until it has had room or a minute has passed`() {
        var limits = ConnectionLimits()
        limits.connectionsMax = 200
        let budget = ConnectionBudget(limits)
        #expect((0..<201).count { _ in budget.takeConnection() } == 200)
        #expect(budget.noteFullNode(nowMilliseconds: 1_000))
        #expect(!budget.noteFullNode(nowMilliseconds: 60_999))
        #expect(budget.noteFullNode(nowMilliseconds: 61_000))
        // One client goes and another one comes: that is no room.
        budget.giveConnection()
        #expect(budget.takeConnection())
        #expect(!budget.noteFullNode(nowMilliseconds: 61_000))
        for _ in 0..<2 { budget.giveConnection() }
        #expect(budget.noteFullNode(nowMilliseconds: 61_000))
        #expect(!budget.noteFullNode(nowMilliseconds: 61_000))
        budget.set(limits)
        #expect(budget.noteFullNode(nowMilliseconds: 61_000))
        #expect(budget.connectionsMax == 200)
    }
}
