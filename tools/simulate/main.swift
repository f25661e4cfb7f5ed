import Foundation
import Simulator

/// Whole nodes in a simulated system (`simulate cluster --seeds 100`), one room with very many viewers (`simulate size`),
/// and gossip at any size (`simulate gossip --nodes 1000`).
let words = Array(CommandLine.arguments.dropFirst())
if words.first == "gossip" {
    exit(GossipRun(Array(words.dropFirst()))?.run() ?? usage())
} else if words.first == "size" {
    exit(SizeRun(Array(words.dropFirst()))?.run() ?? usage())
} else if words == ["sentences"] {
    // For `mutate check`.
    for kind in Complaint.kinds { print(kind) }
    exit(0)
} else if words.first == "cluster" {
    exit(WholeRun(Array(words.dropFirst()))?.run() ?? usage())
} else {
    exit(usage())
}

func usage() -> Int32 {
    print(
        "usage: simulate cluster [--seed N | --seeds COUNT --from SEED] [--show | --moderated] [--fault NAME] [--nodes COUNT]"
    )
    print("                [--loops COUNT] [--faults COUNT] [--seconds N] [--ages] [--trace 1]")
    print("                [--senders COUNT] [--barrage ITEMS-A-SECOND] [--slow MILLISECONDS]")
    print("       simulate size [--nodes COUNT] [--viewers COUNT] [--messages COUNT] [--seed N] [--trace 1]")
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
