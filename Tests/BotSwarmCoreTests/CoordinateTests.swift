import BotSwarmCore
import Foundation
import Testing

@Suite struct ClockComparisonTests {
    @Test func `one clock is taken for one`() {
        var clock = ClockComparison()
        clock.note(askedAt: 1_000, answer: 1_900, answeredAt: 2_000)
        clock.note(askedAt: 5_000, answer: 5_040, answeredAt: 5_100)
        #expect(clock.result.offsetNanoseconds == 0)
        #expect(clock.result.errorNanoseconds == 0)
    }

    @Test func `the fastest answer says by how much two clocks differ`() {
        var clock = ClockComparison()
        clock.note(askedAt: 1_000_000, answer: 4_200, answeredAt: 1_010_000)
        clock.note(askedAt: 2_000_000, answer: 1_000_050, answeredAt: 2_000_100)
        clock.note(askedAt: 3_000_000, answer: 2_009_000, answeredAt: 3_020_000)
        #expect(clock.result.offsetNanoseconds == 1_000_000)
        #expect((50...60).contains(clock.result.errorNanoseconds))
        #expect(clock.answers == 3)
    }
}

@Suite struct SharedSecretTests {
    @Test func `only the same secret, role and numbers prove anything`() throws {
        let secret = try SharedSecret("0123456789abcdef")
        let other = try SharedSecret("0123456789abcdeg")
        let proof = secret.proof(role: "worker", nonce: "n", own: "o")
        #expect(secret.isProof(proof, role: "worker", nonce: "n", own: "o") == true)
        #expect(other.isProof(proof, role: "worker", nonce: "n", own: "o") == false)
        #expect(secret.isProof(proof, role: "coordinator", nonce: "n", own: "o") == false)
        #expect(secret.isProof(proof, role: "worker", nonce: "m", own: "o") == false)
        #expect(secret.isProof(String(proof.dropLast()), role: "worker", nonce: "n", own: "o") == false)
        #expect(throws: SwarmFailure.self) { try SharedSecret("0123456789abcde") }
        #expect(throws: Never.self) { try SharedSecret(SharedSecret.random()) }
    }
}

@Suite struct SwarmMessageTests {
    @Test func `statements and plans come through as they were said`() throws {
        var ledger = try LedgerFixture(viewers: 1)
        ledger.say(1)
        _ = ledger.send(.unkept)
        let statements = ledger.ledger.statements
        let line = try JSONEncoder().encode(SwarmMessage.statements(room: 3, statements))
        #expect(!line.contains(UInt8(ascii: "\n")))
        guard case .statements(3, let read) = try JSONDecoder().decode(SwarmMessage.self, from: line) else {
            Issue.record("another message was read")
            return
        }
        #expect(read == statements)
        #expect(statements.count == 2)
    }

    @Test func `each bot is one worker's, and each room is everybody's`() {
        var scenario = Scenario()
        (scenario.bots, scenario.rooms) = (120, 5)
        var owners: [Int: Int] = [:]
        for index in 0..<3 {
            var part = WorkerPart()
            (part.index, part.count) = (index, 3)
            let own = (0..<scenario.bots).filter { part.has(BotID($0), rooms: scenario.rooms) }
            #expect(own.count == 40)
            #expect(Set(own.map { scenario.room(of: BotID($0)) }).count == 5)
            for bot in own { owners[bot, default: 0] += 1 }
        }
        #expect(owners.count == 120)
        #expect(owners.values.allSatisfy { $0 == 1 })
    }
}

@Suite struct WorkerReportTests {
    @Test func `reports are put together, and what all have read counts once`() throws {
        var report = RunReport(scenario: Scenario(), run: "k3", rooms: ["r"])
        var part = RunReport(scenario: Scenario(), run: "k3", rooms: ["r"])
        var ledger = try LedgerFixture(viewers: 1)
        let history = [ledger.say(1), ledger.say(2)]
        #expect(ledger.close(history: history) == [:])
        part.totals = ledger.ledger.totals
        for _ in 0..<2 {
            let line = try JSONEncoder().encode(WorkerReport(part))
            report.merge(try JSONDecoder().decode(WorkerReport.self, from: line))
        }
        #expect(report.totals.kept.sent == 4)
        #expect(report.totals.received == 4)
        #expect(report.totals.inHistory == 2)
        #expect(report.isBalanced == true)
    }
}
