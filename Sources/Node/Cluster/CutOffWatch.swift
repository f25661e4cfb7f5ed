/// For how long this node has not heard its cluster, and what follows from that. Pure: times are passed in.
///
/// Without the system group nobody knows whose tokens have been revoked (ARCHITECTURE.md, "System group"). But only
/// time in which this process ran counts: one that stood still (stopped, swapped out, suspended) has heard nobody
/// because it did not listen, and hears the cluster again within a moment. Its clients are not to be sent away for
/// that.
struct CutOffWatch: Sendable {
    /// After so long nobody new is let in, and clients are asked to move where others may serve them.
    static let cutOffLimit = Duration.seconds(5)
    /// After so long clients are sent elsewhere, once.
    static let sendAwayLimit = Duration.seconds(30)
    /// It looks at least twice a second: what is beyond this between two looks is time in which it did not run.
    static let stepMax = Duration.seconds(1)

    /// A step that concerns clients.
    enum Action: Sendable {
        /// They are asked to move while their connections last: the others hold this node for dead, and its sessions are in
        /// their grace there.
        case askToMove
        /// They are sent elsewhere, and their connections end.
        case sendAway
    }

    private(set) var silence = Duration.zero
    private var hasAsked = false
    private var hasSentAway = false

    var isCutOff: Bool { silence >= Self.cutOffLimit }

    /// - Parameters:
    ///   - mayServeElsewhere: whether the others may be a majority without this node. While they are reached and elect a
    ///     leader, or can't, nobody is served better elsewhere.
    ///   - elapsed: since the last look.
    /// - Returns: what is to be done now, each once.
    mutating func look(isHeard: Bool, mayServeElsewhere: Bool, after elapsed: Duration) -> Action? {
        guard !isHeard else {
            (silence, hasAsked, hasSentAway) = (.zero, false, false)
            return nil
        }
        silence += min(elapsed, Self.stepMax)
        if silence >= Self.sendAwayLimit, !hasSentAway {
            hasSentAway = true
            return .sendAway
        }
        guard isCutOff, mayServeElsewhere, !hasAsked, !hasSentAway else { return nil }
        hasAsked = true
        return .askToMove
    }
}
