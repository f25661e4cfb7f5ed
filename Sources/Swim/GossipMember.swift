public import ChatModel

/// Where a node receives: `host:port`, with a numeric host. This target only compares and carries it.
public struct GossipAddress: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// 1-64 bytes of printable ASCII without spaces.
    public let text: String

    /// Nil for any other text.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (33...126).contains($0) }) else { return nil }
        self.text = text
    }

    public var description: String { text }

    public static func < (a: GossipAddress, b: GossipAddress) -> Bool { a.text < b.text }
}

/// A shard that a node leads, and in which term: the newest term is the one to believe.
public struct ShardLead: Hashable, Sendable {
    public var shard: ShardID
    public var term: UInt64

    public init(shard: ShardID, term: UInt64) {
        self.shard = shard
        self.term = term
    }
}

/// A node's statement about itself. All of it is a hint: it steers routing and placement, never safety.
public struct GossipMember: Hashable, Sendable {
    public enum Role: UInt8, Hashable, Sendable, CaseIterable {
        /// Has a store and may hold replicas.
        case data = 0
        case gatewayOnly = 1
    }

    public var node: NodeID
    /// The identity of its log store; nil for a node without one.
    public var store: UInt64?
    public var role: Role
    /// Where it receives gossip, by UDP and, for push-pull, by TCP.
    public var gossipAddress: GossipAddress
    /// Where it accepts links of other nodes.
    public var linkAddress: GossipAddress?
    /// Where clients reach it.
    public var clientAddress: GossipAddress?
    /// The program's version; at most 32 bytes, the rest is cut.
    public var version: String {
        didSet { version = Self.cut(version) }
    }
    /// Thousandths of what it can carry.
    public var load: UInt16
    /// The shards it leads, ascending. Those that do not fit a packet are left out when it is told to others
    /// (`fitted`); who asks the wrong node is then redirected.
    public var leads: [ShardLead]

    public init(
        node: NodeID, store: UInt64? = nil, role: Role = .data, gossipAddress: GossipAddress,
        linkAddress: GossipAddress? = nil, clientAddress: GossipAddress? = nil, version: String = "",
        load: UInt16 = 0, leads: [ShardLead] = []
    ) {
        self.node = node
        self.store = store
        self.role = role
        self.gossipAddress = gossipAddress
        self.linkAddress = linkAddress
        self.clientAddress = clientAddress
        self.version = Self.cut(version)
        self.load = load
        self.leads = leads
    }

    static let versionBytesMax = 32

    private static func cut(_ version: String) -> String {
        guard version.utf8.count > versionBytesMax else { return version }
        var cut = version
        while cut.utf8.count > versionBytesMax { cut.removeLast() }
        return cut
    }

    /// With its leads in order and as many of them as `GossipCodec.memberBytesMax` allows.
    func fitted() -> GossipMember {
        var fitted = self
        fitted.leads.sort { ($0.shard, $0.term) < ($1.shard, $1.term) }
        var excess = GossipCodec.encodedBytes(fitted) - GossipCodec.memberBytesMax
        while excess > 0, let last = fitted.leads.popLast() { excess -= GossipCodec.encodedBytes(last) }
        return fitted
    }
}
