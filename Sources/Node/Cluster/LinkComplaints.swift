import ChatModel
import NodeLinkCore

/// Which refused connections are worth a line in the log: who is refused calls again every few seconds, and strangers may
/// call as often as they like.
struct LinkComplaints {
    private struct Kind: Hashable {
        var node: NodeID?
        var code: LinkError.Code
    }

    /// One line for each node and code in so long.
    static let interval = Duration.seconds(60)
    /// Kinds that are remembered; beyond, nothing more is worth a line until the oldest are forgotten.
    static let kindsMax = 256

    /// For so long a node that was taken out must go on calling before that is worth a line: a node that was started a moment
    /// ago may know of the removal, and not yet of the return.
    static let patience = Duration.seconds(5)

    /// For so long a node is called before it is worth a line that it is not reached: others have to start, too.
    static let outagePatience = Duration.seconds(10)

    /// A node that this one calls, or is connected to.
    private struct Peer {
        /// nil: it is reached.
        var unreachedSince: ContinuousClock.Instant?
        var isSaid = false
        /// The end of the last connection or call that ended by itself, and when.
        var error: (LinkError, at: ContinuousClock.Instant)?
    }

    private var peers: [NodeID: Peer] = [:]
    private var saidAt: [Kind: ContinuousClock.Instant] = [:]
    /// When it was said first and last of each node that it, or this one, was taken out.
    private var removed: [NodeID: Removal] = [:]

    private struct Removal {
        var first: ContinuousClock.Instant
        var last: ContinuousClock.Instant
        /// When it was said last on a connection on which the node has proved who it is: nobody else can make a link quiet.
        var lastProven: ContinuousClock.Instant?
    }

    /// Whether to say it at `now`.
    /// - Parameters:
    ///   - node: nil for all who have not proved who they are, and were not called.
    ///   - isProven: whether the other side has proved to be `node`.
    mutating func admit(_ node: NodeID?, _ code: LinkError.Code, isProven: Bool, at now: ContinuousClock.Instant)
        -> Bool
    {
        if code == .removed, let node, !isPersistent(node, isProven: isProven, at: now) { return false }
        let kind = Kind(node: node, code: code)
        if let last = saidAt[kind], now - last < Self.interval { return false }
        if saidAt.count >= Self.kindsMax {
            saidAt = saidAt.filter { now - $0.value < Self.interval }
            guard saidAt.count < Self.kindsMax else { return false }
        }
        saidAt[kind] = now
        return true
    }

    /// A connection to the node, or a call to it, has ended by itself.
    /// - Returns: whether to say that the node is not reached: once, until it is.
    mutating func noteUnreached(_ node: NodeID, _ error: LinkError, at now: ContinuousClock.Instant) -> Bool {
        guard peers[node] != nil || peers.count < Self.kindsMax else { return false }
        var peer = peers[node] ?? Peer(unreachedSince: now)
        peer.error = (error, now)
        let isDue = !peer.isSaid && (peer.unreachedSince.map { now - $0 >= Self.outagePatience } ?? false)
        if isDue { peer.isSaid = true }
        peers[node] = peer
        return isDue
    }

    /// The node is reached.
    mutating func noteUp(_ node: NodeID) {
        guard peers[node] != nil || peers.count < Self.kindsMax else { return }
        peers[node] = Peer()
    }

    /// The node is not reached any more.
    /// - Returns: the reason, if the connection has ended by itself.
    mutating func noteDown(_ node: NodeID, at now: ContinuousClock.Instant) -> LinkError? {
        peers[node]?.unreachedSince = now
        // Said in the same turn. A call that crossed with the connection may have failed long before.
        guard let (error, at) = peers[node]?.error, now - at < .milliseconds(100) else { return nil }
        return error
    }

    /// Whether one of the two was taken out of the cluster, as was said on a link to that node lately.
    func isOut(_ node: NodeID, at now: ContinuousClock.Instant) -> Bool {
        removed[node]?.lastProven.map { now - $0 < Self.interval } ?? false
    }

    private mutating func isPersistent(_ node: NodeID, isProven: Bool, at now: ContinuousClock.Instant) -> Bool {
        var known = removed[node] ?? Removal(first: now, last: now)
        if removed[node] == nil {
            if removed.count >= Self.kindsMax { removed = removed.filter { now - $0.value.last < Self.interval } }
            // A crowd of names does not grow the memory.
            guard removed.count < Self.kindsMax else { return false }
        }
        if now - known.last >= Self.interval { known.first = now }
        known.last = now
        if isProven { known.lastProven = now }
        removed[node] = known
        return now - known.first >= Self.patience
    }
}
