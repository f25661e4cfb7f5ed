import ChatModel
import ClusterRouting
import RoomProtocol
import Rooms
import ServerAPI
import Swim
import SystemGroupHost
import Wire

/// The state of the cluster: what its nodes answer, and which of them do not.
extension NodeService {
    /// The sum over all nodes that answer. A user with sessions on two nodes counts twice.
    func stats() async throws(ChatError) -> StatsView {
        var sum = StatsView()
        let statuses = await statuses()
        let roomCount = await nodes.sum(.roomCount)
        sum.missing = missing(roomCount.answered.intersection(statuses.map(\.node)))
        for status in statuses {
            sum.sessions += status.stats.sessions
            sum.users += status.stats.users
            sum.connections += status.stats.connections
            sum.slowSessions += status.stats.slowSessions
            // Earlier programs say it here; the others answer the question below.
            sum.rooms += status.stats.rooms
            sum.activeRooms += status.stats.activeRooms
            sum.online += status.stats.online
        }
        sum.rooms += Int64(roomCount.count)
        sum.time = WallClock.now()
        sum.startedAt = startedAt
        return sum
    }

    func figures() async throws(ChatError) -> FiguresView {
        var view = FiguresView()
        for item in await nodes.askAll(.figures) {
            if case .figures(let figures) = item.answer { view.nodes.append(figures) }
        }
        view.nodes.sort { $0.node < $1.node }
        view.missing = missing(Set(view.nodes.map(\.node)))
        view.time = WallClock.now()
        return view
    }

    /// Those that the system group lists, and those that gossip knows besides.
    func nodes() async throws(ChatError) -> [NodeView] {
        let records = gossip?.records ?? []
        let known = Dictionary(records.map { ($0.member.node, $0) }) { first, _ in first }
        let statuses = Dictionary(await statuses().map { ($0.node, $0) }) { first, _ in first }
        let listed = Dictionary(system.nodes.map { ($0.node, $0) }) { first, _ in first }
        let all = Set(listed.keys).union(known.keys)
        let voters = await system.status().replicas
        return all.sorted().map { node in
            var view = NodeView(id: node)
            view.systemVoter = voters.contains(node)
            view.state = node == configuration.node ? .alive : known[node].map { NodeState($0.status) }
            view.gateways = listed[node]?.clientURLs ?? []
            view.draining = listed[node]?.isDraining == true ? true : nil
            guard let status = statuses[node] else { return view }
            view.alive = true
            view.leads = Int64(status.leads.count)
            view.startedAt = status.stats.startedAt
            view.version = status.version
            view.featureLevel = Int64(status.level.number)
            view.gateways = status.gateways
            return view
        }
    }

    /// Each shard has its leader's status; without a leader, that of the replica that has applied most.
    func shards() async throws(ChatError) -> [ShardView] {
        var best: [Int64: (rank: (leads: Int, term: UInt64, applied: UInt64), view: ShardView)] = [:]
        for (node, answer) in await nodes.askAll(.shards) {
            guard case .shards(let list) = answer else { continue }
            for view in list {
                let rank = (leads: view.leader == node ? 1 : 0, term: view.term, applied: view.applied)
                if best[view.shard].map({ $0.rank < rank }) ?? true { best[view.shard] = (rank, view) }
            }
        }
        return best.values.map(\.view).sorted { $0.shard < $1.shard }
    }

    func health() async throws(ChatError) -> ClusterHealthView {
        let shards = await shardsOfNodes()
        return ClusterHealth(
            shardCount: Int(rooms.shardCount), listed: system.nodes, statuses: await statuses(), shards: shards,
            level: system.level
        ).view
    }

    func statuses() async -> [NodeStatus] {
        await nodes.askAll(.status).compactMap { item -> NodeStatus? in
            if case .status(let status) = item.answer { status } else { nil }
        }
    }

    /// The shards as each node that answers knows them.
    func shardsOfNodes() async -> [(node: NodeID, views: [ShardView])] {
        await nodes.askAll(.shards).compactMap { item in
            if case .shards(let views) = item.answer { (item.node, views) } else { nil }
        }
    }

    /// Listed nodes that are not among those that have answered.
    func missing(_ answered: Set<NodeID>) -> [NodeID] {
        system.nodes.map(\.node).filter { !answered.contains($0) }.sorted()
    }
}

extension NodeState {
    init(_ status: GossipRecord.Status) {
        switch status {
        case .alive: self = .alive
        case .suspect: self = .suspect
        case .dead: self = .dead
        case .left: self = .left
        }
    }
}
