import ChatModel
import RoomProtocol
import ServerAPI
import Wire

/// The health of the cluster, made of what its nodes answer (PROTOCOL.md, "Health"). Pure.
struct ClusterHealth: Sendable {
    /// The replicas that a shard is to have, where there are as many data nodes.
    static let replicasWanted = 3

    var shardCount: Int
    /// The nodes that the system group lists.
    var listed: [NodeRecord]
    /// Those that answer.
    var statuses: [NodeStatus]
    /// The shards as each node that answers knows them.
    var shards: [(node: NodeID, views: [ShardView])]
    /// The cluster's.
    var level: FeatureLevel

    /// The shards as all nodes that answer know them together. One whose replicas are all away is in nobody's list.
    struct Shards: Sendable {
        private(set) var led: Set<Int64> = []
        /// By the list of who has heard most.
        private(set) var replicas: [Int64: (term: UInt64, applied: UInt64, nodes: [NodeID])] = [:]
        /// The nodes that have applied something of a shard, as they say themselves.
        private(set) var present: [Int64: Set<NodeID>] = [:]
        /// The replicas that do not keep up, as the leaders say.
        private(set) var behind: [Int64: Set<NodeID>] = [:]

        init(_ shards: [(node: NodeID, views: [ShardView])]) {
            for (node, views) in shards {
                for view in views {
                    // Only its own word: who follows a leader may not have noticed its death yet.
                    if view.leader == node {
                        led.insert(view.shard)
                        behind[view.shard, default: []].formUnion(view.behind)
                    }
                    if view.applied > 0 { present[view.shard, default: []].insert(node) }
                    let known = replicas[view.shard]
                    guard known.map({ ($0.term, $0.applied) < (view.term, view.applied) }) ?? true else { continue }
                    replicas[view.shard] = (view.term, view.applied, view.replicas)
                }
            }
        }
    }

    var view: ClusterHealthView {
        let alive = Set(statuses.map(\.node))
        let known = Shards(shards)
        let dataNodes = listed.count { $0.role == .data && !$0.isDraining }
        let wanted = dataNodes >= Self.replicasWanted ? Self.replicasWanted : 1
        let complete = known.replicas.count { shard, replicas in
            // A node that has lost its disk is still named as a replica until its new one is.
            let whole = known.present[shard, default: []].intersection(alive)
                .subtracting(known.behind[shard, default: []])
            return replicas.nodes.count { whole.contains($0) } >= wanted
        }
        var view = ClusterHealthView()
        view.shards = Int64(shardCount)
        view.withoutLeader = Int64(max(0, shardCount - known.led.count))
        view.underReplicated = Int64(max(0, shardCount - complete))
        view.nodes.alive = Int64(alive.count)
        view.nodes.dead = Int64(listed.count { !alive.contains($0.node) })
        view.nodes.versions = Set(statuses.map(\.version)).sorted()
        view.featureLevel = Int64(level.number)
        return view
    }
}
