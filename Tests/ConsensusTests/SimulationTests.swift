import Foundation
import Testing

@testable import Consensus

/// `SEED=n` runs that seed only; `SEEDS=n` that many, from 1.
@Suite struct SimulationTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
        return Array(1...(environment["SEEDS"].flatMap { UInt64($0) } ?? 100))
    }()

    @Test func `nothing committed is lost or contradicted, whatever the network, disks and power do`() throws {
        var (committed, elections, installs, changes, hints) = (0, 0, 0, 0, 0)
        for seed in Self.seeds {
            var simulation = try Simulation(seed: seed)
            try simulation.run(steps: 3_000)
            for violation in simulation.checkers.violations { Issue.record("SEED=\(seed): \(violation)") }
            committed += simulation.committedCount
            elections += simulation.elections
            installs += simulation.installs
            changes += simulation.changes
            hints += simulation.hints
        }
        print("seeds \(Self.seeds.count), committed \(committed), elections \(elections)")
        print("snapshots installed \(installs), membership changes \(changes), hints \(hints)")
        // A simulation in which nothing happens proves nothing.
        #expect(committed > 20 * Self.seeds.count)
        #expect(elections > Self.seeds.count)
        if Self.seeds.count > 20 { #expect(installs > 0 && changes > 0 && hints > 0) }
    }

    @Test(arguments: [
        (Simulation.Sabotage.forgetsVotes, SimulationCheckers.Name.electionSafety),
        (.losesSyncedEntries, .leaderCompleteness),
        (.reportsSavesEarly, .durablePromises),
        (.rewindsCores, .commitMonotonic),
        (.flipsPayloads, .logMatching),
        (.forgesAcks, .stateMachineSafety),
        (.forgesReadReplies, .linearizableReads),
        (.forgesVotes, .leaderCompleteness),
        (.doublesCommits, .applyOrder),
        (.losesAcknowledged, .acknowledged),
        (.cutsForEver, .liveness),
    ])
    func `a checker finds the fault that was planted for it`(
        sabotage: Simulation.Sabotage, checker: SimulationCheckers.Name
    ) throws {
        for seed in UInt64(1)...300 {
            var simulation = try Simulation(seed: seed, sabotage: sabotage)
            try simulation.run(steps: 3_000)
            if simulation.checkers.violations.contains(where: { $0.name == checker }) { return }
        }
        Issue.record("\(checker) did not find \(sabotage)")
    }
}
