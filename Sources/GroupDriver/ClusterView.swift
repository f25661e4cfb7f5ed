import ChatModel
import Consensus
import ShardPlacement
import Synchronization

/// This node's knowledge of the cluster's nodes, for the leaders of groups here: who is listed, where groups belong,
/// who is held for dead, and whose clocks are wrong. Read and written on any thread.
public final class ClusterView: Sendable {
    /// As of one moment.
    package struct Content: Sendable {
        package var nodes: [PlacementNode] = []
        package var placement: Placement
        var deadSince: [String: UInt64] = [:]
        /// Nodes that are not to lead.
        package var wrongClocks: Set<String> = []
        /// Those of them that take no clients.
        var uselessClocks: Set<NodeID> = []
        /// Nodes whose clocks show about what this one's shows, itself among them.
        var agreeingClocks: Set<String> = []
        /// Nodes that reach more of the cluster than this one.
        package var reachingMore: Set<String> = []
        /// Nodes that reach less of it.
        package var reachingFewer: Set<String> = []
        /// This node has the system group's state as of now, or has waited for it for long.
        package var knowsSettings = true
        package var level = FeatureLevel.first
    }

    private let shardCount: UInt16
    private let content: Mutex<Content>

    /// - Parameter shardCount: of the cluster.
    public init(shardCount: UInt16) {
        self.shardCount = shardCount
        content = Mutex(Content(placement: Placement(nodes: [], shardCount: shardCount)))
    }

    package var current: Content { content.withLock { $0 } }

    /// A clock in ticks of 100 ms that never goes back, for `note(dead:)` and the reconcilers.
    package static func ticks() -> UInt64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return UInt64(clamping: seconds) * 10 + UInt64(clamping: attoseconds / 100_000_000_000_000_000)
    }

    private static let start = ContinuousClock.now

    /// The nodes that the system group lists.
    public func set(_ records: [NodeRecord]) {
        let nodes = records.map {
            PlacementNode(
                server: ServerID(node: $0.node.text, store: $0.store), holdsData: $0.role == .data,
                isDraining: $0.isDraining)
        }
        let placement = Placement(nodes: nodes, shardCount: shardCount)
        content.withLock {
            $0.nodes = nodes
            $0.placement = placement
        }
    }

    /// The cluster's feature level, as far as this node has heard.
    public var level: FeatureLevel { content.withLock { $0.level } }

    public func set(level: FeatureLevel) { content.withLock { $0.level = level } }

    /// Whether this node's rooms have what the system group says of them; its shards do not lead before, if others can.
    public func set(knowsSettings: Bool) { content.withLock { $0.knowsSettings = knowsSettings } }

    /// The nodes whose clocks are too far off the others', and those of them whose clocks misjudge tokens.
    /// - Parameter agreeing: the nodes whose clocks show about what this one's shows, itself among them.
    public func set(wrongClocks: Set<NodeID>, useless: Set<NodeID>, agreeing: Set<NodeID> = []) {
        let (wrong, agreeing) = (Set(wrongClocks.map(\.text)), Set(agreeing.map(\.text)))
        content.withLock { ($0.wrongClocks, $0.uselessClocks, $0.agreeingClocks) = (wrong, useless, agreeing) }
    }

    /// The nodes that reach more of the cluster than this one, and those that reach less of it.
    public func set(reachingMore: Set<NodeID>, reachingFewer: Set<NodeID>) {
        let (more, fewer) = (Set(reachingMore.map(\.text)), Set(reachingFewer.map(\.text)))
        content.withLock { ($0.reachingMore, $0.reachingFewer) = (more, fewer) }
    }

    /// Whether the clocks of most listed nodes agree with the own one: what is removed by it can't be had back. A node alone
    /// has nobody to ask; one that does not know yet who is listed waits.
    public var mayRemoveByClock: Bool {
        content.withLock { known in
            let agreeing = known.nodes.count { known.agreeingClocks.contains($0.server.node) }
            return known.nodes.count == 1 || 2 * agreeing > known.nodes.count
        }
    }

    /// Whether the node's clock is so far off that no client is sent there.
    public func hasUselessClock(_ node: NodeID) -> Bool { content.withLock { $0.uselessClocks.contains(node) } }

    /// The nodes that gossip holds for dead now; what was dead before keeps its time.
    public func set(dead: Set<NodeID>) {
        let now = Self.ticks()
        content.withLock { content in
            let former = content.deadSince
            content.deadSince = [:]
            for node in dead { content.deadSince[node.text] = former[node.text] ?? now }
        }
    }
}
