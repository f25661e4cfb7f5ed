/// When a loop's next round of proposals may begin: at once, unless many commands come; then once in a window.
///
/// A round has a price of its own, whatever it carries: for each group two messages to each replica and their answers, on
/// each replica a transaction with a sync, and the turns and threads that all this wakes. Under load, rounds that begin
/// as soon as there is a command cost more than the commands, and queues grow. Windows begin at multiples of their length,
/// so that the loops of a node propose together and share its syncs.
struct ProposalPace {
    /// The longest that a command waits here (8 ms).
    static let windowNanoseconds: UInt64 = 8_000_000
    /// With fewer commands in a window than this nobody waits: the node has time.
    static let busyCount = 4
    /// A round of this size begins at once: waiting longer would make it no cheaper.
    static let largeCount = 512

    private var window: UInt64 = 0
    /// Commands proposed in this window, and in the one before it.
    private var count = 0
    private var formerCount = 0

    /// Whether a round with so many commands may begin now. If not, it may when ``windowEnd`` has come.
    mutating func mayBegin(commands: Int, atNanoseconds now: UInt64) -> Bool {
        look(at: now)
        return count == 0 || max(formerCount, count + commands) < Self.busyCount || commands >= Self.largeCount
    }

    /// The round has begun.
    mutating func began(commands: Int, atNanoseconds now: UInt64) {
        look(at: now)
        count += commands
    }

    /// In nanoseconds of the same clock.
    var windowEnd: UInt64 { (window + 1) * Self.windowNanoseconds }

    private mutating func look(at now: UInt64) {
        let current = now / Self.windowNanoseconds
        guard current != window else { return }
        formerCount = current == window + 1 ? count : 0
        (window, count) = (current, 0)
    }
}
