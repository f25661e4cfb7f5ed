/// When the shards of a loop propose what is staged: at once while little happens; under load the commands of a few
/// milliseconds together.
///
/// A proposal costs a transaction, a share of a sync, rows and a publication, however small it is. So many small ones
/// cost more than they gain: they keep the loops and the disk busy, and everything waits longer (figures in
/// `docs/BENCHMARKS.md`). Nobody waits while there is little to do.
struct ProposalPace {
    /// Between two proposals under load; less than the window in which messages are coalesced for viewers.
    static let pauseMilliseconds: UInt64 = 4
    /// So many commands within `windowMilliseconds` are load: 2,000 a second.
    static let busyCommands = 20
    static let windowMilliseconds: UInt64 = 10

    private var proposedAt: UInt64 = 0
    private var windowStart: UInt64 = 0
    private var inWindow = 0
    private var inWindowBefore = 0

    init() {}

    /// How long to wait before proposing; 0: propose now. Times are the loop's, which never go back.
    mutating func wait(at now: UInt64) -> UInt64 {
        roll(to: now)
        guard max(inWindow, inWindowBefore) >= Self.busyCommands else { return 0 }
        let passed = now - min(now, proposedAt)
        return passed >= Self.pauseMilliseconds ? 0 : Self.pauseMilliseconds - passed
    }

    mutating func proposed(_ count: Int, at now: UInt64) {
        roll(to: now)
        proposedAt = now
        inWindow += count
    }

    private mutating func roll(to now: UInt64) {
        let passed = now - min(now, windowStart)
        guard passed >= Self.windowMilliseconds else { return }
        inWindowBefore = passed < 2 * Self.windowMilliseconds ? inWindow : 0
        inWindow = 0
        windowStart = now
    }
}
