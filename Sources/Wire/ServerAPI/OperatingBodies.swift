import ChatModel

/// The load of a node and its cluster.
public struct StatsView: WireMessage, Hashable {
    public var time = Timestamp(0)
    /// When this node's process began.
    public var startedAt = Timestamp(0)
    /// Those in their grace included.
    public var sessions: Int64 = 0
    /// With at least one session, anonymous ones included.
    public var users: Int64 = 0
    public var connections: Int64 = 0
    /// Sessions that do not take what they are sent.
    public var slowSessions: Int64 = 0
    /// Rooms that exist, closed ones included.
    public var rooms: Int64 = 0
    /// Rooms with somebody in them.
    public var activeRooms: Int64 = 0
    /// Everybody in them; who is in two counts twice.
    public var online: Int64 = 0
    /// Nodes that did not answer: what they have is not counted.
    public var missing: [NodeID] = []

    public static var blank: StatsView { StatsView() }
    public static var schemaName: String { "Stats" }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "time", &time)
        try walker.shown(2, "startedAt", &startedAt)
        try walker.shown(3, "sessions", &sessions)
        try walker.shown(4, "users", &users)
        try walker.shown(5, "connections", &connections)
        try walker.shown(6, "slowSessions", &slowSessions)
        try walker.shown(7, "rooms", &rooms)
        try walker.shown(8, "online", &online)
        try walker.shown(9, "activeRooms", &activeRooms)
        try walker.repeated(10, "missing", &missing)
    }
}

/// A node of the cluster.
public struct NodeView: WireMessage, Hashable {
    public var id: NodeID
    /// Whether the node that answers reaches it.
    public var alive = false
    public var startedAt: Timestamp?
    /// Client URLs that it tells clients.
    public var gateways: [String] = []
    /// Shards that it leads.
    public var leads: Int64 = 0
    /// The node's state in gossip; nil where gossip does not know it.
    public var state: NodeState?
    /// Whether its vote counts in the system group, as the node that answers knows it.
    public var systemVoter = false
    /// The version of its program, with the revision; nil for a node that does not answer. Nodes should differ during
    /// an upgrade only.
    public var version: String?
    /// The highest feature level that its program can do; nil for a node that does not answer.
    public var featureLevel: Int64?
    /// True for a node that hands over its shards and clients to be removed; nil for others.
    public var draining: Bool?

    public static var blank: NodeView { NodeView(id: .blank) }
    public static var schemaName: String { "Node" }

    public init(id: NodeID) { self.id = id }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "id", &id)
        try walker.shown(2, "alive", &alive)
        try walker.optional(3, "startedAt", &startedAt)
        try walker.list(4, "gateways", &gateways)
        try walker.shown(5, "leads", &leads)
        try walker.optional(6, "state", &state)
        try walker.shown(7, "systemVoter", &systemVoter)
        try walker.optional(8, "version", &version, .none)
        try walker.optional(9, "featureLevel", &featureLevel)
        try walker.optional(10, "draining", &draining)
    }
}

/// {nodes}.
public struct NodesView: WireMessage, Hashable {
    public var nodes: [NodeView]

    public static var blank: NodesView { NodesView(nodes: []) }
    public static var schemaName: String { "Cluster" }

    public init(nodes: [NodeView]) { self.nodes = nodes }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "nodes", &nodes)
    }
}

/// A shard's group.
public struct ShardView: WireMessage, Hashable {
    public var shard: Int64
    /// Absent while there is none.
    public var leader: NodeID?
    public var replicas: [NodeID]
    public var term: UInt64
    /// The log index up to which the node that answers has applied.
    public var applied: UInt64
    /// The replicas that are away or lack what was committed ten seconds ago, as the leader sees them; its answer alone has
    /// them.
    public var behind: [NodeID] = []

    public static var blank: ShardView { ShardView(shard: ShardID(0), leader: nil, replicas: [], term: 0, applied: 0) }
    public static var schemaName: String { "Shard" }

    public init(shard: ShardID, leader: NodeID?, replicas: [NodeID], term: UInt64, applied: UInt64) {
        self.shard = Int64(shard.number)
        self.leader = leader
        self.replicas = replicas
        self.term = term
        self.applied = applied
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "shard", &shard)
        try walker.optional(2, "leader", &leader)
        try walker.list(3, "replicas", &replicas)
        try walker.shown(4, "term", &term)
        try walker.shown(5, "applied", &applied)
        try walker.repeated(6, "behind", &behind)
    }
}

/// {shards}.
public struct ShardsView: WireMessage, Hashable {
    public var shards: [ShardView]

    public static var blank: ShardsView { ShardsView(shards: []) }
    public static var schemaName: String { "Shards" }

    public init(shards: [ShardView]) { self.shards = shards }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "shards", &shards)
    }
}

/// A changing call of the server API, done or refused.
public struct AuditItem: WireMessage, Hashable {
    /// Ascending for each node; made by the record.
    public var id: Int64 = 0
    public var time: Timestamp
    /// The caller, by the name of the key or the `sub` of the token; absent when that is what was refused.
    public var administrator: String?
    /// The address that the call came from.
    public var address: String
    public var method: String
    /// Without its query.
    public var path: String
    /// The HTTP status that was answered.
    public var status: Int64
    /// The code that it was refused with.
    public var error: Int64?
    /// Further calls like this one that were not recorded one by one.
    public var unrecorded: Int64 = 0
    /// The node that answered; absent in what was recorded before other nodes told it too.
    public var node: NodeID?
    /// Which call, by the name that the OpenAPI document gives it; absent for one that there is not.
    public var action: String?
    /// The room that it is about.
    public var room: String?

    public static var blank: AuditItem {
        AuditItem(time: .blank, administrator: nil, address: "", method: "", path: "", status: 0)
    }

    public init(
        time: Timestamp, administrator: String?, address: String, method: String, path: String, status: Int64,
        error: Int64? = nil
    ) {
        self.time = time
        self.administrator = administrator
        self.address = address
        self.method = method
        self.path = path
        self.status = status
        self.error = error
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "id", &id)
        try walker.required(2, "time", &time)
        try walker.optional(3, "administrator", &administrator)
        try walker.shown(4, "address", &address)
        try walker.required(5, "method", &method)
        try walker.required(6, "path", &path)
        try walker.required(7, "status", &status)
        try walker.optional(8, "error", &error)
        try walker.defaulted(9, "unrecorded", &unrecorded, default: 0)
        try walker.optional(10, "node", &node)
        try walker.optional(11, "action", &action)
        try walker.optional(12, "room", &room)
    }
}

/// {items, [next, missing]}.
public struct AuditView: WireMessage, Hashable {
    public var items: [AuditItem]
    public var next: String?
    /// Nodes that did not answer: what they recorded last may not be among the items.
    public var missing: [NodeID] = []

    public static var blank: AuditView { AuditView(items: []) }
    public static var schemaName: String { "Audit" }

    public init(items: [AuditItem], next: String? = nil, missing: [NodeID] = []) {
        self.items = items
        self.next = next
        self.missing = missing
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "items", &items)
        try walker.optional(2, "next", &next)
        try walker.list(3, "missing", &missing)
    }
}

/// The state of a node in gossip.
public enum NodeState: String, Sendable, Hashable, CaseIterable, WireEnum {
    case alive
    /// Does not answer, and is asked through others.
    case suspect
    case dead
    /// Has said good-bye.
    case left

    public static var blank: NodeState { .alive }

    public var number: Int {
        switch self {
        case .alive: 1
        case .suspect: 2
        case .dead: 3
        case .left: 4
        }
    }
}

/// How much a node logs.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, WireEnum {
    case trace, debug, info, notice, warning, error, critical

    public static var blank: LogLevel { .info }

    public var number: Int {
        switch self {
        case .trace: 1
        case .debug: 2
        case .info: 3
        case .notice: 4
        case .warning: 5
        case .error: 6
        case .critical: 7
        }
    }
}

/// Body and answer of PUT /v1/log.
public struct LogSettings: WireMessage, Hashable {
    public var level: LogLevel

    public static var blank: LogSettings { LogSettings(level: .info) }

    public init(level: LogLevel) { self.level = level }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "level", &level)
    }
}
