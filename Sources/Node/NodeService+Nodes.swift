import ChatModel
import ClusterRouting
import NodeLink
import RoomProtocol
import Rooms
import SystemGroupHost

/// Nodes that come and go, what they lead, and what they may do.
extension NodeService {
    func drain(_ node: NodeID) async throws(ChatError) {
        try requireOthers(than: node)
        try await system.changeNodes(.setDraining(node, true))
    }

    /// A node that still leads shards or serves clients must be drained before.
    func remove(_ node: NodeID) async throws(ChatError) {
        try requireOthers(than: node)
        if case .status(let status)? = try? await nodes.ask(node, .status), !status.leads.isEmpty {
            let count = status.leads.count == 1 ? "a shard" : "\(status.leads.count) shards"
            let isDraining = system.nodes.contains { $0.node == node && $0.isDraining }
            let advice = isDraining ? "it is being drained: wait until it leads none" : "drain it first"
            throw ChatError(.conflict, "\(node) leads \(count): \(advice)", field: "node")
        }
        try await requireNoLastCopy(at: node)
        let others = system.nodes.map(\.node.text).filter { $0 != node.text }
        // One that is made for several nodes says nothing of this one alone.
        let certificate = await nodes.certificate(of: node).flatMap { shown in
            shown.names.contains(where: others.contains) ? nil : shown.fingerprint
        }
        try await system.changeNodes(.remove(node, certificate: certificate))
    }

    /// A shard that nobody leads may have what was acked on this node's disk alone, and a removed node brings nothing back.
    private func requireNoLastCopy(at node: NodeID) async throws(ChatError) {
        let answers = await shardsOfNodes()
        let known = ClusterHealth.Shards(answers)
        let answersItself = answers.contains { $0.node == node }
        let held = (0..<Int64(rooms.shardCount)).filter { shard in
            // A node that has a replica of it names it, unless it does not answer.
            !known.led.contains(shard) && known.replicas[shard].map { $0.nodes.contains(node) } ?? !answersItself
        }
        guard let first = held.first else { return }
        let what =
            held.count == 1
            ? "shard \(first), which nobody leads" : "\(held.count) shards that nobody leads, shard \(first) the first"
        throw ChatError(
            .conflict,
            "\(node) may have the only copy of \(what): bring it back, or another node that is away, and remove it then",
            field: "node")
    }

    func readmit(_ node: NodeID) async throws(ChatError) { try await system.changeNodes(.readmit(node)) }

    /// Without the node a majority of every group must stay.
    private func requireOthers(than node: NodeID) throws(ChatError) {
        let all = system.nodes
        guard all.contains(where: { $0.node == node }) else {
            throw ChatError(.notFound, "there is no node \(node) in the cluster", field: "node")
        }
        let others = all.filter { $0.node != node && $0.role == .data && !$0.isDraining }
        guard !others.isEmpty else {
            throw ChatError(.conflict, "\(node) is the last node that holds rooms", field: "node")
        }
        let here = nodes.reached.union([configuration.node])
        guard others.count(where: { here.contains($0.node) }) * 2 > others.count else {
            throw ChatError(.conflict, "most of the other nodes can't be reached", field: "node")
        }
    }

    func transfer(_ shard: ShardID, to node: NodeID) async throws(ChatError) {
        guard shard.number < rooms.shardCount else {
            throw ChatError(.notFound, "there is no shard \(shard.number)", field: "shard")
        }
        guard system.nodes.contains(where: { $0.node == node }) else {
            throw ChatError(.notFound, "there is no node \(node) in the cluster", field: "to")
        }
        let deadline = ContinuousClock.now + .seconds(5)
        while true {
            let known = nodes.leader(of: shard)
            guard known.node != node else { return }
            guard ContinuousClock.now < deadline else {
                throw ChatError(.unavailable, "\(node) has not taken the shard over in time", retryAfterMs: 1000)
            }
            if let leader = known.node { _ = try await nodes.ask(leader, .transfer(shard, to: node)) }
            // A leader that could not hand over in time goes on leading, which nobody is told.
            await nodes.leaderChange(of: shard, since: known, until: min(deadline, ContinuousClock.now + .seconds(1)))
        }
    }

    /// All listed nodes must be here and say that they can do it: one that is away may come back with any program.
    func raise(to level: FeatureLevel) async throws(ChatError) {
        let (current, listed) = (system.level, system.nodes)
        guard level != current else { return }
        guard level > current else {
            throw ChatError(.conflict, "the feature level is \(current) and is never lowered", field: "level")
        }
        let statuses = Dictionary(await statuses().map { ($0.node, $0) }) { first, _ in first }
        for record in listed {
            guard let status = statuses[record.node] else {
                throw ChatError(
                    .unavailable, "\(record.node) does not answer: bring it back, or remove it", retryAfterMs: 5_000)
            }
            guard status.level >= level else {
                throw ChatError(
                    .conflict, "\(record.node) runs \(status.version), which can do feature level \(status.level)",
                    field: "level")
            }
        }
        try await system.raise(to: level, stores: listed.map(\.store))
    }
}
