/// When a loop's next round of proposals may begin: when the one before is committed (group commit by completion), and
/// where replicas take part, after a rest that is longer the longer that took.
///
/// A round has a price of its own, whatever it carries: for each group two messages to each replica and their answers, on
/// each replica a transaction with a sync, and the turns and threads that all this wakes. Commands that come while a round
/// is on its way make the next one larger. Alone, a node waits for its disk and for nothing else. With replicas a round is
/// mostly work of CPUs, here and elsewhere: without a rest, rounds of few commands would take all of them before commands
/// are many. The rest leaves them a share, and nobody waits for longer than ``longestWaitNanoseconds``.
struct ProposalPace {
    /// The longest that commands wait for the round before and for the rest behind it (8 ms): a group without a majority,
    /// or a hanging disk of another node, holds up no other group of the loop for longer.
    static let longestWaitNanoseconds: UInt64 = 8_000_000
    /// How many times as long as a round took the loop rests, where replicas take part.
    static let restFactor: UInt64 = 2
    /// A round of this size begins at once: waiting longer would make it no cheaper.
    static let largeCount = 512

    private enum State {
        /// Can become: `committed`; `underWay`, with a large round or after the longest wait.
        case underWay(since: UInt64)
        /// Can become: `underWay`.
        case committed(restUntil: UInt64)
    }

    private var state = State.committed(restUntil: 0)

    /// Whether a round with so many commands may begin now. If not, it may at ``waitEnd``, if not before.
    func mayBegin(commands: Int, atNanoseconds now: UInt64) -> Bool {
        commands >= Self.largeCount || now >= waitEnd
    }

    /// When the next round may begin, if nothing happens until then; in nanoseconds of the same clock.
    var waitEnd: UInt64 {
        switch state {
        case .underWay(let since): since + Self.longestWaitNanoseconds
        case .committed(let restUntil): restUntil
        }
    }

    /// The round has begun.
    mutating func began(atNanoseconds now: UInt64) { state = .underWay(since: now) }

    /// All rounds that have begun are committed.
    /// - Parameter isReplicated: whether other nodes took part.
    mutating func committed(isReplicated: Bool, atNanoseconds now: UInt64) {
        guard case .underWay(let since) = state else { return }
        let rest = isReplicated ? Self.restFactor * (now - min(now, since)) : 0
        state = .committed(restUntil: min(now + rest, since + Self.longestWaitNanoseconds))
    }
}
