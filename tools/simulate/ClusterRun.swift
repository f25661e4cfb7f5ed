import Simulation

/// Runs the cluster's simulation: `--seeds 1000`, or `--seed 7` for one, with `--from 1` to begin elsewhere. Ends with 1
/// when a seed fails, and says how to run it again. `--plant votesTwice` plants a fault, to see it found. `freezes` in
/// front runs freezes and cuts only; there `--lose 1` loses now and then what can't be lost, for the watch to mend it. `--trace 30`
/// prints what nodes make of each other from the thirtieth second on.
struct ClusterRun {
    private var seeds: UInt64 = 100
    private var from: UInt64 = 1
    private var planted: ClusterSimulation.Sabotage?
    private var isOfFreezes = false
    private var loses = false
    private var traceFrom: Duration?

    init?(_ words: [String]) {
        var words = words
        if words.first == "freezes" {
            isOfFreezes = true
            words.removeFirst()
        }
        if let place = words.firstIndex(of: "--plant") {
            guard place + 1 < words.count, let fault = ClusterSimulation.Sabotage(rawValue: words[place + 1]) else {
                return nil
            }
            planted = fault
            words.removeSubrange(place...(place + 1))
        }
        guard let given = numbers(words, names: ["--seeds", "--from", "--seed", "--lose", "--trace"]) else {
            return nil
        }
        seeds = given["--seeds"] ?? seeds
        from = given["--from"] ?? from
        loses = given["--lose"].map { $0 > 0 } ?? false
        traceFrom = given["--trace"].map { .seconds(Int64($0)) }
        if loses, !isOfFreezes { return nil }
        if let seed = given["--seed"] { (from, seeds) = (seed, 1) }
    }

    func run() -> Int32 {
        var failures = 0
        var counts: [String: Int] = [:]
        for seed in from..<from + seeds {
            let simulation =
                isOfFreezes
                ? ClusterSimulation(freezes: seed, sabotage: planted, losing: loses)
                : ClusterSimulation(seed: seed, sabotage: planted)
            simulation.traceFrom = traceFrom
            simulation.run()
            for violation in simulation.checkers.violations.prefix(3) { print("seed \(seed): \(violation)") }
            if !simulation.checkers.violations.isEmpty {
                failures += 1
                print(
                    "again: swift run simulate \(isOfFreezes ? "freezes " : "")--seed \(seed)\(loses ? " --lose 1" : "")"
                )
            }
            for (what, count) in simulation.counts { counts[what, default: 0] += count }
        }
        print("\(seeds) seeds, \(failures) failed")
        for (what, count) in counts.sorted(by: { $0.key < $1.key }) { print("\(what): \(count)") }
        return failures == 0 ? 0 : 1
    }
}
