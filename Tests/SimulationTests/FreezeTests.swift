import Foundation
import Simulation
import Testing

/// Nodes that stand still, and links that are cut, flap or lose in one direction: five seconds later all is well. `SEED=n`
/// runs that seed only; `FREEZES=n` that many. `swift run -c release simulate freezes --seeds 100` is faster.
@Suite struct FreezeTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
        return Array(1...(environment["FREEZES"].flatMap { UInt64($0) } ?? 16))
    }()

    private func run(losing: Bool) -> [String: Int] {
        var counts: [String: Int] = [:]
        for seed in Self.seeds {
            let simulation = ClusterSimulation(freezes: seed, losing: losing)
            simulation.run()
            for violation in simulation.checkers.violations {
                let again = "again: swift run simulate freezes --seed \(seed)\(losing ? " --lose 1" : "")"
                Issue.record("SEED=\(seed): \(violation)\n\(again)")
            }
            for (what, count) in simulation.counts { counts[what, default: 0] += count }
        }
        print("freezes \(Self.seeds.count): \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
        return counts
    }

    @Test func `five seconds after a freeze or a cut nobody is deaf, outside or a ghost`() {
        let counts = run(losing: false)
        guard Self.seeds.count > 10 else { return }
        for what in [
            "freezes", "cuts", "flapping links", "one-way losses", "doubts", "rooms announced", "silent links ended",
            "links refused", "frames of before an end",
        ] {
            #expect(counts[what, default: 0] > 0, "no \(what)")
        }
    }

    /// A stream that never goes on, a session of which nobody hears that it has left, a lane that its leader has forgotten.
    @Test func `what can't be lost and is lost all the same is found and mended in time`() {
        let counts = run(losing: true)
        guard Self.seeds.count > 10 else { return }
        for what in [
            "streams that never go on", "leaves lost", "lanes forgotten", "tallies asked for", "rooms said anew",
            "streams overdue", "unknown sessions announced",
        ] {
            #expect(counts[what, default: 0] > 0, "no \(what)")
        }
    }

    /// Each fault, and the checker that must find it.
    static let planted: [(ClusterSimulation.Sabotage, ClusterCheckers.Name)] = [
        (.announcesAtFormerEnd, .nobodyDeaf),
        (.losesFollowing, .nobodyDeaf),
        (.losesPresence, .nobodyDeaf),
        (.losesLeaves, .nobodyGhost),
        (.losesEntered, .everybodyEnters),
    ]

    @Test(arguments: planted)
    func `a checker finds the fault that was planted for it`(
        sabotage: ClusterSimulation.Sabotage, checker: ClusterCheckers.Name
    ) {
        var others: [ClusterCheckers.Name: Int] = [:]
        for seed in UInt64(1)...60 {
            let simulation = ClusterSimulation(freezes: seed, sabotage: sabotage)
            simulation.run()
            if simulation.checkers.violations.contains(where: { $0.name == checker }) { return }
            for violation in simulation.checkers.violations { others[violation.name, default: 0] += 1 }
        }
        Issue.record("\(checker) did not find \(sabotage), others did: \(others)")
    }
}
