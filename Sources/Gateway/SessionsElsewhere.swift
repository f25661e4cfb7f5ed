import ChatModel
import RoomProtocol

/// The gateways of other nodes, for a client that comes back here with a session that it held there. Implemented by the
/// node.
public protocol SessionsElsewhere: Sendable {
    /// Has the session handed over by whoever holds it. May take long when a node hangs: who asks need not wait for it,
    /// but must keep what comes late, because nobody else has it any more.
    ///
    /// - Parameter user: whose session it must be; nil for an anonymous one.
    func take(_ session: SessionID, for user: UserID?) async -> SessionSearch
    /// This node has taken a session up whose holder can't be reached. All nodes are told; one that is reached again
    /// hears it before anything else.
    func tookOver(_ session: TakenSession)
    /// The other nodes that are reached.
    var others: Set<NodeID> { get }
    /// Asks another node for users' sessions, and tells it of those here.
    func notify(_ news: DeviceNews, to node: NodeID) async -> Result<DeviceNews, ChatError>
}

/// How the search for a session has ended.
public enum SessionSearch: Sendable, Equatable {
    case found(from: NodeID, HandedSession)
    /// Every node that could hold it has answered that it does not, or not for this user.
    case nobody
    /// A node that could hold it can't be reached, and has been lost for less than the grace.
    case unreached
}

/// A node that knows of no other.
public struct NoSessionsElsewhere: SessionsElsewhere {
    public init() {}

    public func take(_ session: SessionID, for user: UserID?) async -> SessionSearch { .nobody }
    public func tookOver(_ session: TakenSession) {}
    public var others: Set<NodeID> { [] }

    public func notify(_ news: DeviceNews, to node: NodeID) async -> Result<DeviceNews, ChatError> {
        .failure(ChatError(.unavailable, "there is no other node"))
    }
}
