import Foundation
import Simulation
import Testing

/// `SEED=n` runs that seed only; `SEEDS=n` that many, from 1. `swift run simulate --seeds 1000` is faster.
@Suite struct ClusterSimulationTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
        return Array(1...(environment["SEEDS"].flatMap { UInt64($0) } ?? 200))
    }()

    @Test func `whatever fails, what was acked stays, in one order, shown without holes`() {
        var counts: [String: Int] = [:]
        for seed in Self.seeds {
            let simulation = ClusterSimulation(seed: seed)
            simulation.run()
            for violation in simulation.checkers.violations {
                Issue.record("SEED=\(seed): \(violation)\nagain: swift run simulate --seed \(seed)")
            }
            for (what, count) in simulation.counts { counts[what, default: 0] += count }
        }
        print("seeds \(Self.seeds.count): \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
        guard Self.seeds.count > 20 else { return }
        // A simulation in which nothing happens proves nothing.
        #expect(counts["acks", default: 0] > 10 * Self.seeds.count)
        for what in [
            "crashes", "stops", "partitions", "drains", "lost disks", "older disks", "removals", "snapshots",
            "full disks", "storms of clients", "doubts", "rooms announced", "rooms resumed", "sessions resumed",
            "kicks", "bodies lost", "bodies asked for", "links dropped for bodies",
        ] {
            #expect(counts[what, default: 0] > 0, "no \(what)")
        }
    }

    /// Each fault, and the checker that must find it.
    private static let planted: [(ClusterSimulation.Sabotage, ClusterCheckers.Name)] = [
        (.acksBeforeSync, .acknowledged),
        (.losesSyncedEntries, .oneOrder),
        (.noDeduplication, .onceOnly),
        (.resumesOffByOne, .contiguousStream),
        (.appliesOutOfOrder, .oneOrder),
        (.votesTwice, .oneLeaderPerTerm),
        (.forgetsMutes, .replicasEqual),
        (.letsMutedSpeak, .mutedSilent),
        (.losesRows, .denseSeq),
        (.losesSilently, .contiguousStream),
        (.followsOffByOne, .contiguousStream),
        (.skipsBodies, .contiguousStream),
        (.keepsBlacklisted, .blacklistedOut),
        (.stampsBackwards, .monotonicTime),
        (.cutsGossip, .gossipConverges),
        (.cutsForEver, .liveness),
        (.neverSheds, .boundedQueues),
        (.showsUnasked, .contiguousStream),
        (.believesOldDisks, .oneOrder),
    ]

    @Test func `for every checker a fault is planted`() {
        #expect(Set((Self.planted + FreezeTests.planted).map(\.1)) == Set(ClusterCheckers.Name.allCases))
    }

    @Test(arguments: Self.planted)
    func `a checker finds the fault that was planted for it`(
        sabotage: ClusterSimulation.Sabotage, checker: ClusterCheckers.Name
    ) {
        var others: [ClusterCheckers.Name: Int] = [:]
        // Most show in the first few; an older disk with a vote that matters is rare.
        for seed in UInt64(1)...400 {
            let simulation = ClusterSimulation(seed: seed, sabotage: sabotage)
            simulation.run()
            if simulation.checkers.violations.contains(where: { $0.name == checker }) { return }
            for violation in simulation.checkers.violations { others[violation.name, default: 0] += 1 }
        }
        Issue.record("\(checker) did not find \(sabotage), others did: \(others)")
    }
}
