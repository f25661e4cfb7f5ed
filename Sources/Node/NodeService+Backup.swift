import ChatModel
import ClusterRouting
import RoomProtocol
import Rooms
import Wire

/// The backup of the whole cluster.
extension NodeService {
    /// Every node copies what it leads; together that must be everything. Else nothing is left of it, where the nodes
    /// are reached.
    func backup() async throws(ChatError) -> BackupView {
        try requireWhole(Set(nodes.leaders.keys), hasSystem: true)
        let time = WallClock.now()
        let name = NodeBackup.name(at: time)
        do throws(ChatError) {
            return try await backup(name, at: time)
        } catch {
            _ = await nodes.results(of: .discardBackup(name))
            throw error
        }
    }

    private func backup(_ name: String, at time: Timestamp) async throws(ChatError) -> BackupView {
        var view = BackupView(time: time, copies: [])
        var copied: Set<ShardID> = []
        var hasSystem = false
        for (_, result) in await nodes.results(of: .backup(name)) {
            guard case .backup(let copy, let shards, let includesSystem) = try result.get() else {
                throw ChatError(.internal, "the answer is to another question")
            }
            view.copies.append(copy)
            copied.formUnion(shards)
            hasSystem = hasSystem || includesSystem
        }
        try requireWhole(copied, hasSystem: hasSystem)
        return view
    }

    private func requireWhole(_ shards: Set<ShardID>, hasSystem: Bool) throws(ChatError) {
        let missing = (0..<rooms.shardCount).first { !shards.contains(ShardID($0)) }
        guard missing != nil || !hasSystem else { return }
        let what = missing.map { "shard \($0)" } ?? "the system group"
        throw ChatError(
            .unavailable, "nobody leads \(what) at the moment: there is no whole backup", retryAfterMs: 2000)
    }
}
