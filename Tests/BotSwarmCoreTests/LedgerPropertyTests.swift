import BotSwarmCore
import Foundation
import Testing

/// Random runs of a server that keeps the protocol balance; the same runs with one fault never do.
@Suite struct LedgerPropertyTests {
    private static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init).map { [$0] } ?? Array(1...200)

    private func run(_ seed: UInt64, _ fault: ServerModel.Fault?) throws -> (broken: Bool, Findings, Bool) {
        var model = ServerModel(fixture: try LedgerFixture(viewers: 4), seed: seed, fault: fault)
        for _ in 1...120 { model.step() }
        _ = model.finish()
        return (model.hasBroken, model.fixture.ledger.findings, model.fixture.ledger.isSettled())
    }

    @Test func `a server that keeps the protocol balances`() throws {
        for seed in Self.seeds {
            let (_, findings, isSettled) = try run(seed, nil)
            #expect(findings.isEmpty, "SEED=\(seed): \(findings.told.map(\.text))")
            #expect(isSettled, "SEED=\(seed)")
        }
    }

    @Test(arguments: ServerModel.Fault.allCases)
    func `a server that breaks the protocol once does not balance`(fault: ServerModel.Fault) throws {
        var brokenCount = 0
        for seed in Self.seeds {
            let (broken, findings, _) = try run(seed, fault)
            guard broken else { continue }
            brokenCount += 1
            #expect(!findings.isEmpty, "SEED=\(seed)")
        }
        #expect(brokenCount > 0 || Self.seeds.count == 1)
    }
}
