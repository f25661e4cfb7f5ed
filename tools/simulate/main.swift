import Foundation
import Simulation

/// The cluster's simulation (`simulate --seeds 1000`), and gossip's at any size (`simulate gossip --nodes 1000`).
let words = Array(CommandLine.arguments.dropFirst())
if words.first == "gossip" {
    exit(GossipRun(Array(words.dropFirst()))?.run() ?? usage())
} else if words.first == "cluster" {
    exit(WholeRun(Array(words.dropFirst()))?.run() ?? usage())
} else {
    exit(ClusterRun(words)?.run() ?? usage())
}

func usage() -> Int32 {
    print("usage: simulate [freezes [--lose 1]] [--seeds COUNT] [--from SEED] [--seed SEED] [--plant FAULT]")
    print("                [--trace SECOND]")
    print("       simulate cluster [--seed N | --seeds COUNT --from SEED] [--show] [--fault NAME] [--nodes COUNT]")
    print("                [--loops COUNT] [--faults COUNT] [--seconds N] [--trace 1]")
    print("       simulate gossip [--nodes COUNT] [--trials COUNT] [--seed SEED] [--loss PERCENT]")
    return 2
}

/// `--name NUMBER` pairs; nil for anything else.
func numbers(_ words: [String], names: Set<String>) -> [String: UInt64]? {
    var found: [String: UInt64] = [:]
    var rest = words[...]
    while let word = rest.popFirst() {
        guard names.contains(word), let number = rest.popFirst().flatMap({ UInt64($0) }), number < 1 << 62 else {
            return nil
        }
        found[word] = number
    }
    return found
}
