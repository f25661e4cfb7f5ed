/// When a loop's next round of proposals may begin: when the one before is committed (group commit by completion).
///
/// A round has a price of its own, whatever it carries: for each group two messages to each replica and their answers, on
/// each replica a transaction with a sync, and the turns and threads that all this wakes. What comes while a round is on
/// its way makes the next one larger, so rounds are as small as the disk and the network allow and no smaller: nobody
/// waits for a clock, and under load each carries more.
struct ProposalPace {
    /// The longest that commands wait for the round before (8 ms): a group without a majority, or a hanging disk of another
    /// node, holds up no other group of the loop for longer.
    static let longestWaitNanoseconds: UInt64 = 8_000_000
    /// A round of this size begins at once: waiting longer would make it no cheaper.
    static let largeCount = 512

    /// When the newest round began.
    private var beganAt: UInt64?

    /// Whether a round with so many commands may begin now.
    /// - Parameter isCommitted: whether the rounds before are.
    func mayBegin(commands: Int, isCommitted: Bool, atNanoseconds now: UInt64) -> Bool {
        guard !isCommitted, let beganAt else { return true }
        return commands >= Self.largeCount || now >= beganAt + Self.longestWaitNanoseconds
    }

    /// The round has begun.
    mutating func began(atNanoseconds now: UInt64) { beganAt = now }

    /// When a round may begin that has to wait now, whatever becomes of the one before; in nanoseconds of the same clock.
    var waitEnd: UInt64 { beganAt.map { $0 + Self.longestWaitNanoseconds } ?? 0 }
}
