import Foundation
import Simulation

/// Runs the cluster's simulation: `swift run simulate --seeds 1000`, or `--seed 7` for one, with `--from 1` to begin
/// elsewhere. Ends with 1 when a seed fails, and says how to run it again. `--plant votesTwice` plants a fault, to see it
/// found.
struct Arguments {
    var seeds: UInt64 = 100
    var from: UInt64 = 1
    var planted: ClusterSimulation.Sabotage?

    init?(_ words: [String]) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            if word == "--plant" {
                planted = ClusterSimulation.Sabotage(rawValue: value)
                if planted == nil { return nil }
                continue
            }
            guard let number = UInt64(value), number < 1 << 62 else { return nil }
            switch word {
            case "--seeds": seeds = number
            case "--from": from = number
            case "--seed": (from, seeds) = (number, 1)
            default: return nil
            }
        }
    }
}

guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
    print("usage: simulate [--seeds COUNT] [--from SEED] [--seed SEED] [--plant FAULT]")
    exit(2)
}
var failures = 0
var counts: [String: Int] = [:]
for seed in arguments.from..<arguments.from + arguments.seeds {
    let simulation = ClusterSimulation(seed: seed, sabotage: arguments.planted)
    simulation.run()
    for violation in simulation.checkers.violations.prefix(3) { print("seed \(seed): \(violation)") }
    if !simulation.checkers.violations.isEmpty {
        failures += 1
        print("again: swift run simulate --seed \(seed)")
    }
    for (what, count) in simulation.counts { counts[what, default: 0] += count }
}
print("\(arguments.seeds) seeds, \(failures) failed")
for (what, count) in counts.sorted(by: { $0.key < $1.key }) { print("\(what): \(count)") }
exit(failures == 0 ? 0 : 1)
