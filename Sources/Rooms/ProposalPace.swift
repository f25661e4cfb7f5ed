/// When a loop's next round of proposals may begin: when the one before is committed (group commit by completion).
///
/// A round has a price of its own, whatever it carries: for each group two messages to each replica and their answers, on
/// each replica a transaction with a sync, and the turns and threads that all this wakes. Commands that come while a round
/// is on its way make the next one larger. So rounds are as small as disk and network allow and no smaller: nobody waits
/// for a clock, and under load each carries more.
struct ProposalPace {
    /// The longest that commands wait for the round before (8 ms): a group without a majority, or a hanging disk of another
    /// node, holds up no other group of the loop for longer.
    static let longestWaitNanoseconds: UInt64 = 8_000_000
    /// A round of this size begins at once: waiting longer would make it no cheaper.
    static let largeCount = 512

    /// When the newest round began, until all are committed.
    private var beganAt: UInt64?

    /// Whether a round with so many commands may begin now. If not, it may at ``waitEnd``, if not before.
    func mayBegin(commands: Int, atNanoseconds now: UInt64) -> Bool {
        commands >= Self.largeCount || now >= waitEnd
    }

    /// When the next round may begin, if nothing happens until then; in nanoseconds of the same clock.
    var waitEnd: UInt64 { beganAt.map { $0 + Self.longestWaitNanoseconds } ?? 0 }

    /// The round has begun.
    mutating func began(atNanoseconds now: UInt64) { beganAt = now }

    /// All rounds that have begun are committed.
    mutating func committed() { beganAt = nil }
}
