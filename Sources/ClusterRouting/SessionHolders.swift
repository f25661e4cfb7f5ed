import ChatModel
import RoomProtocol

/// Which nodes have been lost lately with the sessions that they held, and which of these this node has taken up. Pure:
/// times are passed in.
struct SessionHolders: Sendable {
    /// Sessions that were taken up and that a node which comes back is told of; older ones are forgotten. A node whose
    /// copy is forgotten ends it when its client does not come back.
    static let takenMax = 65_536
    /// Nor is one remembered for longer: by then its holder has missed its client's heartbeats.
    static let takenLife = Duration.seconds(3600)

    private let grace: Duration
    /// Nodes that were lost before are not known: this node's own former life may have held a session, too.
    private let begunAt: ContinuousClock.Instant
    /// When the link to each node last ended.
    private var lostAt: [NodeID: ContinuousClock.Instant] = [:]
    /// Oldest first.
    private var taken = Fifo<(session: TakenSession, at: ContinuousClock.Instant)>()

    init(grace: Duration, begunAt: ContinuousClock.Instant) {
        self.grace = grace
        self.begunAt = begunAt
    }

    mutating func lose(_ node: NodeID, at now: ContinuousClock.Instant) { lostAt[node] = now }

    /// Whether a session that nobody has may still be in its grace: its holder has gone since.
    func mayBeLost(at now: ContinuousClock.Instant) -> Bool {
        now < begunAt + grace || lostAt.values.contains { now < $0 + grace }
    }

    mutating func take(_ session: TakenSession, at now: ContinuousClock.Instant) {
        taken.append((session, now))
        while let oldest = taken.first, taken.count > Self.takenMax || now - oldest.at > Self.takenLife {
            taken.removeFirst()
        }
    }

    /// The sessions that were taken up since shortly before the node was lost; all of them, when it never was.
    func taken(since node: NodeID) -> [TakenSession] {
        guard let lost = lostAt[node] else { return taken.map(\.session) }
        // A node that hangs is given up before its link ends.
        return taken.filter { $0.at >= lost - Self.hanging }.map(\.session)
    }

    /// Longer than a silent link is kept.
    private static let hanging = Duration.seconds(30)
}
