import ChatModel
import Consensus
import EventLoop
import Wire

/// Which cluster this is.
public struct ClusterIdentity: Sendable, Hashable {
    /// Random, made when the cluster is created.
    public var id: String
    /// Fixed for the cluster's life.
    public var shardCount: UInt16

    public init(id: String, shardCount: UInt16) {
        self.id = id
        self.shardCount = shardCount
    }
}

/// What belongs to no room: which cluster this is and of which nodes it consists.
public struct SystemState: Sendable, Hashable {
    public struct Node: Sendable, Hashable {
        public var node: NodeID
        /// The store that the node had when it was taken in.
        public var store: UInt64
    }

    /// nil until the cluster has been created.
    public private(set) var cluster: ClusterIdentity?
    public private(set) var nodes: [Node] = []

    public init() {}

    mutating func apply(_ command: SystemCommand) {
        // A cluster is created once; a repeat changes nothing.
        guard cluster == nil, let node = NodeID(command.node), let shards = UInt16(exactly: command.shardCount) else {
            return
        }
        cluster = ClusterIdentity(id: command.clusterID, shardCount: shards)
        nodes = [Node(node: node, store: UInt64(bitPattern: command.store))]
    }
}

/// The log entry that creates a cluster.
struct SystemCommand: WireMessage {
    var clusterID = ""
    var shardCount: Int64 = 0
    var node = ""
    var store: Int64 = 0

    static var blank: SystemCommand { SystemCommand() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "clusterId", &clusterID)
        try walker.required(2, "shardCount", &shardCount)
        try walker.required(3, "node", &node)
        try walker.required(4, "store", &store)
    }
}

/// The system group on its loop.
final class SystemHost: GroupLogDelegate {
    private(set) var state = SystemState()
    private var waiting: [() -> Bool] = []

    func logDidChangeLeadership(_ log: GroupLog) { settle() }

    func log(_ log: GroupLog, didCommit entries: [Entry]) {
        for entry in entries {
            if entry.kind == .command {
                do {
                    state.apply(try WireProtobuf.decode(SystemCommand.self, from: entry.payload, limits: false))
                } catch {
                    // Skipping it would make nodes differ.
                    preconditionFailure("the system log's entry \(entry.index) can't be understood: \(error)")
                }
            }
            log.applied(upTo: entry.index)
        }
        settle()
    }

    /// Runs `body` after each change until it returns true.
    func wait(_ body: @escaping () -> Bool) {
        if !body() { waiting.append(body) }
    }

    private func settle() { waiting.removeAll { $0() } }
}
