import ChatModel
import Consensus

/// Which servers each group belongs to: a pure function of the node list and the number of shards, so that every leader
/// finds the same without asking anybody.
///
/// Rendezvous hashing (Thaler and Ravishankar 1998) moves little when nodes come and go, but sixteen shards are too few
/// for chance to spread them evenly. So replicas, and then leaders, are moved from the fullest to the emptiest node,
/// those first whose hashes say the least against it, until no two nodes differ by more than one.
public struct Placement: Sendable, Hashable {
    /// Voters of a shard, where there are that many data nodes.
    public static let shardVotersMax = 3
    /// Voters of the system group, where there are that many data nodes.
    public static let systemVotersMax = 5

    private let shards: [GroupPlacement]
    /// Where the system group belongs.
    public let system: GroupPlacement

    /// - Parameter nodes: in any order; of several entries of one node the last counts.
    public init(nodes: [PlacementNode], shardCount: UInt16) {
        var listed: [String: PlacementNode] = [:]
        for node in nodes { listed[node.server.node] = node }
        let all = listed.values.sorted { $0.server < $1.server }
        let data = all.filter(\.holdsData)
        let staying = data.filter { !$0.isDraining }.map(\.server)
        // The last data node keeps its replicas when it is drained, until there is another one.
        let candidates = staying.isEmpty ? data.map(\.server) : staying
        var table = PlacementTable(servers: candidates, shardCount: Int(shardCount))
        let voterCount = candidates.count < Self.shardVotersMax ? min(1, candidates.count) : Self.shardVotersMax
        table.place(replicas: voterCount)
        shards = table.rankings.map { GroupPlacement(ranking: $0, voterCount: voterCount) }

        let ranking = PlacementTable.ranking(of: "system", candidates)
        // An even number of voters survives no more failures than the odd one below it.
        let count = min(Self.systemVotersMax, candidates.count)
        let systemVoters = count - (count > 0 && count % 2 == 0 ? 1 : 0)
        system = GroupPlacement(
            ranking: ranking, voterCount: systemVoters,
            learners: Set(all.map(\.server)).subtracting(ranking.prefix(systemVoters)))
    }

    /// Where a shard belongs; nil for a shard that there is not.
    public func group(of shard: ShardID) -> GroupPlacement? {
        shards.indices.contains(Int(shard.number)) ? shards[Int(shard.number)] : nil
    }

    /// Where a group belongs; nil for a group that there is not.
    public func group(_ group: GroupID) -> GroupPlacement? {
        group == .system ? system : self.group(of: ShardID(group.number))
    }
}
