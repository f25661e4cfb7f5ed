import ChatModel
import Wire

/// {shards, withoutLeader, underReplicated, nodes, featureLevel}: the cluster as the node that answers sees it
/// (PROTOCOL.md, "Health").
public struct ClusterHealthView: WireMessage, Hashable {
    /// How many shards the cluster has.
    public var shards: Int64 = 0
    /// How many of them nobody leads: their rooms answer 503.
    public var withoutLeader: Int64 = 0
    /// How many have fewer replicas on nodes that answer than they are to have.
    public var underReplicated: Int64 = 0
    public var nodes = Nodes()
    /// The feature level of the cluster (PROTOCOL.md, "Versions").
    public var featureLevel: Int64 = 1

    public static var blank: ClusterHealthView { ClusterHealthView() }
    public static var schemaName: String { "ClusterHealth" }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "shards", &shards)
        try walker.shown(2, "withoutLeader", &withoutLeader)
        try walker.shown(3, "underReplicated", &underReplicated)
        try walker.required(4, "nodes", &nodes)
        try walker.shown(5, "featureLevel", &featureLevel)
    }

    /// How many nodes answer, and with which programs.
    public struct Nodes: WireMessage, Hashable {
        public var alive: Int64 = 0
        /// Listed, and without an answer.
        public var dead: Int64 = 0
        /// The versions of the programs of those that answer, each once.
        public var versions: [String] = []

        public static var blank: Nodes { Nodes() }
        public static var schemaName: String { "NodeCounts" }

        public init() {}

        public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
            try walker.shown(1, "alive", &alive)
            try walker.shown(2, "dead", &dead)
            try walker.list(3, "versions", &versions)
        }
    }
}
