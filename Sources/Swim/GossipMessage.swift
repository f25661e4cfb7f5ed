public import ChatModel

/// A message in a packet. Incarnations are raised by their owner only; a higher one overrides what was said before
/// (SWIM section 4.2).
public enum GossipMessage: Hashable, Sendable {
    /// To be answered with `ack`, by `target` only: another node may have its address now.
    case ping(sequence: UInt32, target: NodeID)
    /// Asks the receiver to ping `target` and to answer with the outcome.
    case pingRequest(sequence: UInt32, target: NodeID)
    case ack(sequence: UInt32)
    /// The receiver of a `pingRequest` lives, and its own ping was not answered in time (Lifeguard).
    case nack(sequence: UInt32)
    case alive(incarnation: UInt64, GossipMember)
    case suspect(incarnation: UInt64, NodeID, by: NodeID)
    /// `by` the node itself: it has left.
    case dead(incarnation: UInt64, NodeID, by: NodeID)

    /// The member that a piece of news is about; nil for probes.
    var subject: NodeID? {
        switch self {
        case .ping, .pingRequest, .ack, .nack: nil
        case .alive(_, let member): member.node
        case .suspect(_, let node, _), .dead(_, let node, _): node
        }
    }
}

/// A node's knowledge of one member, for push-pull.
public struct GossipRecord: Hashable, Sendable {
    public enum Status: UInt8, Hashable, Sendable, CaseIterable {
        case alive = 0
        case suspect = 1
        case dead = 2
        case left = 3
    }

    public var member: GossipMember
    public var incarnation: UInt64
    public var status: Status

    public init(member: GossipMember, incarnation: UInt64, status: Status) {
        self.member = member
        self.incarnation = incarnation
        self.status = status
    }
}

/// An action that the membership asks of the shell around it.
public enum GossipEffect: Hashable, Sendable {
    /// A packet of at most `packetBytesMax` bytes, by UDP.
    case send([GossipMessage], to: GossipAddress)
    /// Exchange everything by TCP: send `records`, and give what comes back to `merge`. The other side merges first and
    /// answers then, so that the answer holds what it refutes. Nothing depends on its success.
    case pushPull(with: GossipAddress)
    case notify(GossipNotification)
}

/// An event that a node's other parts may react to.
public enum GossipNotification: Hashable, Sendable {
    /// New, or back from the dead.
    case joined(GossipMember)
    /// Says something else about itself than before: leads, load, addresses.
    case updated(GossipMember)
    /// Does not answer; `failed` follows unless it refutes.
    case suspected(NodeID)
    /// Has refuted the suspicion.
    case refuted(NodeID)
    case failed(NodeID)
    case left(NodeID)
    /// Somebody claims to be this node, at another address or with another store: two processes share a node ID.
    case conflict(GossipMember)
    /// The others know, or the time for it is over: the process may end.
    case leaveComplete
}
