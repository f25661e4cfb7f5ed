/// For how long this node has not heard its cluster, and what follows from that. Pure: times are passed in.
///
/// Without the system group nobody knows whose tokens have been revoked (ARCHITECTURE.md, "System group"). But only
/// time in which this process ran counts: one that stood still (stopped, swapped out, suspended) has heard nobody
/// because it did not listen, and hears the cluster again within a moment. Its clients are not to be sent away for
/// that.
struct CutOffWatch: Sendable {
    /// After so long nobody new is let in.
    static let cutOffLimit = Duration.seconds(5)
    /// After so long clients are sent elsewhere, once.
    static let sendAwayLimit = Duration.seconds(30)
    /// It looks at least twice a second: what is beyond this between two looks is time in which it did not run.
    static let stepMax = Duration.seconds(1)

    private(set) var silence = Duration.zero
    private var hasSentAway = false

    var isCutOff: Bool { silence >= Self.cutOffLimit }

    /// - Parameter elapsed: since the last look.
    /// - Returns: whether clients are to be sent elsewhere now.
    mutating func look(isHeard: Bool, after elapsed: Duration) -> Bool {
        guard !isHeard else {
            (silence, hasSentAway) = (.zero, false)
            return false
        }
        silence += min(elapsed, Self.stepMax)
        guard silence >= Self.sendAwayLimit, !hasSentAway else { return false }
        hasSentAway = true
        return true
    }
}
