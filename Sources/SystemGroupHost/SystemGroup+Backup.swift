import ChatModel
import Consensus
import GroupDriver
import History
import LogStore
import SQLite
import Wire

/// The system group's state as a file, for a backup.
extension SystemGroup {
    /// Puts a state into a file of its own, durably.
    public static func write(_ state: SystemSnapshot, to path: String) async throws {
        let (file, _) = try StateFile.open(path: path)
        let result: Result<Void, SQLiteError> = await withCheckedContinuation { continuation in
            file.replace({ SystemCodec.encode(state) }) { continuation.resume(returning: $0) }
        }
        file.close()
        try result.get()
    }

    /// Reads one; nil when there is none. Blocks.
    /// - Throws: `StorageError`, `WireError`, `UnknownContent`.
    public static func read(_ path: String, own: FeatureLevel) throws -> SystemSnapshot? {
        let (file, bytes) = try StateFile.open(path: path)
        file.close()
        return try bytes.map { try snapshot(of: $0, own: own) }
    }

    static func snapshot(of bytes: [UInt8], own: FeatureLevel) throws -> SystemSnapshot {
        let snapshot: SystemSnapshot
        do throws(WireError) {
            snapshot = try SystemCodec.decodeSnapshot(bytes, own: own)
        } catch {
            throw error.code == .unknown ? UnknownContent("the system group's state", error, own: own) : error
        }
        guard snapshot.level <= own else { throw UnknownContent(level: snapshot.level, own: own) }
        return snapshot
    }

    /// Makes the system state and the groups of a cluster that goes on from a backup, with this node as their only voter
    /// and as the only node.
    ///
    /// - Parameter shards: by number, up to which entry of its log each shard's storage goes.
    public static func restore(
        _ state: SystemSnapshot, as identity: ClusterIdentity, shards: [UInt64], node: NodeID, server: ServerID,
        store: LogStore, directory: String
    ) async throws {
        var state = state
        state.clusterID = identity.id
        state.nodes = [NodeRecord(node: node, store: server.store, takenInAt: state.time)]
        try await write(state, to: statePath(in: directory))
        try await bootstrap(shards: shards, system: state.appliedIndex, server: server, store: store)
    }
}
