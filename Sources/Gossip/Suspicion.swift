import ChatModel

/// How long a member may stay suspected: long at first, shorter with each further node that suspects it by itself
/// (Lifeguard's dynamic suspicion timeout).
struct Suspicion: Hashable, Sendable {
    private let start: Duration
    private let min: Duration
    private let max: Duration
    /// Confirmations that bring the timeout down to `min`.
    private let expected: Int
    /// Those who suspect it, the first one included.
    private var suspecters: Set<NodeID>

    init(by first: NodeID, at now: Duration, members: Int, _ configuration: GossipConfiguration) {
        start = now
        // Who is first and the suspected one do not confirm; with too few others there is nothing to wait for.
        let wanted = Swift.max(0, configuration.suspicionMult - 2)
        expected = members - 2 < wanted ? 0 : wanted
        min = configuration.suspicionMin(members: members)
        max = expected == 0 ? min : min * Swift.max(1, configuration.suspicionMaxTimeoutMult)
        suspecters = [first]
    }

    /// True when this is a new confirmation that counts, which others should hear of too.
    mutating func confirm(by node: NodeID) -> Bool {
        guard suspecters.count <= expected else { return false }
        return suspecters.insert(node).inserted
    }

    var deadline: Duration {
        guard expected > 0 else { return start + min }
        let share = Logarithm.base2(Double(suspecters.count)) / Logarithm.base2(Double(expected + 1))
        return start + Swift.max(min, max - (max - min) * share)
    }
}

/// A node's doubt in itself: 0 is healthy (Lifeguard's local health multiplier).
struct Awareness: Hashable, Sendable {
    private(set) var score = 0
    let scoreMax: Int

    init(maxMultiplier: Int) { scoreMax = max(0, maxMultiplier - 1) }

    mutating func add(_ delta: Int) { score = min(max(score + delta, 0), scoreMax) }

    func scale(_ duration: Duration) -> Duration { duration * (score + 1) }
}
