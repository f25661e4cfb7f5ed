import ChatModel

/// A frame for another node, meant for the connection that its sender knew of.
public struct LinkParcel: Sendable, Hashable {
    public var node: NodeID
    public var lane: LinkLane
    public var payload: [UInt8]
    /// It goes out on no other one.
    public let connection: LinkPeers.ConnectionID
    /// The connection that has not taken it; nil where that had ended.
    public var refusedBy: LinkPeers.ConnectionID?

    init(_ payload: [UInt8], on lane: LinkLane, to node: NodeID, by connection: LinkPeers.ConnectionID) {
        (self.payload, self.lane, self.node, self.connection) = (payload, lane, node, connection)
    }

    /// Whether the link may send it.
    /// - Parameter reachedBy: the connection to the node by now.
    /// - Returns: whether it may go out. Every loop deals with the end of a connection before it sends anything on the
    ///   next: so earlier frames belong to the former one, and are lost with it.
    public func mayGo(reachedBy: LinkPeers.ConnectionID?) -> Bool { reachedBy == connection }
}

/// By which connection each node is reached, as far as one loop has heard. The loop is told of each end and of each next
/// connection before anything else that follows from it. A value.
public struct KnownConnections: Sendable {
    private var connections: [NodeID: LinkPeers.ConnectionID] = [:]

    public init() {}

    /// The node is reached by that connection, or not any more (nil).
    public mutating func note(_ node: NodeID, reachedBy connection: LinkPeers.ConnectionID?) {
        connections[node] = connection
    }

    /// The nodes that are reached, sorted.
    public var reached: [NodeID] { connections.keys.sorted() }

    public subscript(node: NodeID) -> LinkPeers.ConnectionID? { connections[node] }

    /// The frame for the connection to that node; nil when there is none, and it is lost already.
    public func parcel(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) -> LinkParcel? {
        connections[node].map { LinkParcel(payload, on: lane, to: node, by: $0) }
    }
}
