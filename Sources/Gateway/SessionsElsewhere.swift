import ChatModel
import RoomProtocol

/// The gateways of other nodes, for a client that comes back here with a session that it held there. Implemented by the
/// node.
public protocol SessionsElsewhere: Sendable {
    /// Has the session handed over by whoever holds it; nil when nobody who is reached does, or it is another user's.
    /// May take long when a node hangs: who asks need not wait for it, but must keep what comes late, because nobody
    /// else has it any more.
    ///
    /// - Parameter user: whose session it must be; nil for an anonymous one.
    func take(_ session: SessionID, for user: UserID?) async -> (from: NodeID, session: HandedSession)?
}

/// A node that knows of no other.
public struct NoSessionsElsewhere: SessionsElsewhere {
    public init() {}

    public func take(_ session: SessionID, for user: UserID?) async -> (from: NodeID, session: HandedSession)? { nil }
}
