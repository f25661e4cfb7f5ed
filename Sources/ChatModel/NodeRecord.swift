/// A node's role in its cluster.
public enum NodeRole: String, Sendable, Hashable, CaseIterable {
    /// Holds rooms, and serves clients.
    case data = "DATA"
    /// Only serves clients.
    case gateway = "GATEWAY"
}

/// A node that the cluster consists of, as it has introduced itself.
public struct NodeRecord: Sendable, Hashable {
    public var node: NodeID
    /// The store that it has: made at random with its data directory, so that an emptied directory is another server.
    public var store: UInt64
    /// host:port at which other nodes reach it; empty while the node has not said so.
    public var linkAddress: String
    /// The URLs that clients are told, best first; at most `clientURLsMax`.
    public var clientURLs: [String]
    public var role: NodeRole
    /// It is being emptied: it gets no shards and no new clients.
    public var isDraining: Bool
    /// When its present store was taken in.
    public var takenInAt: Timestamp

    /// Client URLs of one node.
    public static let clientURLsMax = 8

    public init(
        node: NodeID, store: UInt64, linkAddress: String = "", clientURLs: [String] = [], role: NodeRole = .data,
        isDraining: Bool = false, takenInAt: Timestamp = Timestamp(0)
    ) {
        self.node = node
        self.store = store
        self.linkAddress = linkAddress
        self.clientURLs = clientURLs
        self.role = role
        self.isDraining = isDraining
        self.takenInAt = takenInAt
    }
}
