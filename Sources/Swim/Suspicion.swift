import ChatModel

/// How long a member may stay suspected: long at first, shorter with each further node that suspects it by itself
/// (Lifeguard's dynamic suspicion timeout).
///
/// Before the end the member and another one are asked over TCP (memberlist's fallback against a network that loses
/// packets): who has only missed the news that the member is well learns it then, and a node that was stalled reads
/// what came meanwhile before it declares anybody dead.
///
/// A node that has not itself seen that the member does not answer waits longer: mostly one that has seen it says that
/// it is dead before, so that in a large cluster a few ask and not everybody.
struct Suspicion: Hashable, Sendable {
    private var start: Duration
    private let min: Duration
    private let max: Duration
    /// Confirmations that bring the timeout down to `min`.
    private let expected: Int
    /// Those who suspect it, the first one included.
    private var suspecters: Set<NodeID>
    /// When the suspicion becomes death, if the question has been asked by then.
    var deadline: Duration { isWitness ? ownDeadline : ownDeadline + hearsayTime }
    /// That of a witness.
    private var ownDeadline: Duration
    /// How much longer a suspicion lasts that this node only has from others.
    private let hearsayTime: Duration
    /// Whether the member has not answered this node.
    var isWitness: Bool
    /// How long before the deadline the question is due, and how long at least the answer is waited for.
    private let askBefore: Duration
    private let answerWithin: Duration
    private var askedAt: Duration?

    init(by first: NodeID, isWitness: Bool, at now: Duration, members: Int, _ configuration: GossipConfiguration) {
        start = now
        self.isWitness = isWitness
        // The first accuser and the suspected member do not confirm; with too few others there is nothing to wait for.
        let wanted = Swift.max(0, configuration.suspicionConfirmations)
        expected = members - 2 < wanted ? 0 : wanted
        min = configuration.suspicionMin(members: members)
        max = expected == 0 ? min : min * Swift.max(1, configuration.suspicionMaxTimeoutMult)
        suspecters = [first]
        ownDeadline = now + max
        hearsayTime = configuration.probeInterval * 2
        askBefore = configuration.probeInterval
        answerWithin = configuration.probeTimeout
    }

    /// True when this is a new confirmation that counts, which others should hear of too.
    mutating func confirm(by node: NodeID) -> Bool {
        guard suspecters.count <= expected, suspecters.insert(node).inserted else { return false }
        let share = Logarithm.base2(Double(suspecters.count)) / Logarithm.base2(Double(expected + 1))
        ownDeadline = start + Swift.max(min, max - (max - min) * share)
        return true
    }

    /// So much time has been no evidence against the member.
    mutating func prolong(by time: Duration) {
        start += time
        ownDeadline += time
        if let askedAt { self.askedAt = askedAt + time }
    }

    var hasAsked: Bool { askedAt != nil }

    mutating func ask(at now: Duration) { askedAt = now }

    /// When the question is due, and after it the death.
    var nextStep: Duration {
        guard let askedAt else { return Swift.max(start, deadline - askBefore) }
        return Swift.max(deadline, askedAt + answerWithin)
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
