import ChatModel
import Consensus
import FoundationEssentials
import Glibc
import GroupDriver
import History
import LogStore
import Media
import Rooms
import ShardPlacement
import SystemCalls
import SystemGroupHost
import Wire

extension ChatroomNode {
    /// Makes a new cluster of this one node of the parts of a backup: one explicit act, never repeated. Its rooms have
    /// other epochs than they had. It grows as every cluster does: by nodes that join. When
    /// it fails, the files that it has made are removed, so that it can be tried again.
    ///
    /// - Parameter directories: of all nodes that took part in the backup; they are only read.
    public static func restoreCluster(
        _ configuration: NodeConfiguration, from directories: [String]
    ) async throws(NodeError) {
        let parts = try BackupParts(directories)
        let directory = DataDirectory(path: configuration.dataDirectory)
        guard let shardCount = UInt16(exactly: parts.shards.count) else {
            throw NodeError(.data, "the backup names \(parts.shards.count) shards")
        }
        // Before the files are read, which takes long, and before anything is made.
        try directory.requireAbsent()
        try parts.compare()
        try directory.create()
        let identity = ClusterIdentity(id: parts.cluster, shardCount: shardCount)
            .restored(uuid: UUID().uuidString.lowercased(), at: WallClock.now())
        do {
            let stateFile = BackupManifest.systemState(in: parts.system.directory)
            guard let state = try SystemGroup.read(stateFile, own: configuration.levelMax),
                state.appliedIndex == parts.system.appliedIndex
            else { throw NodeError(.data, "\(parts.system.directory) has no whole system state") }
            try copyShards(parts, to: directory, configuration, level: state.level)
            for part in directories {
                try MediaStore.copy(from: BackupManifest.media(in: part), to: directory.media, byLinks: false)
            }
            let store = try openLog(configuration, directory, create: state.level, metrics: nil)
            defer { store.close() }
            try await SystemGroup.restore(
                state, as: identity, shards: parts.shards.map(\.appliedIndex), node: configuration.node,
                server: ServerID(node: configuration.node.text, store: store.storeID), store: store,
                directory: directory.system)
            // All that was copied is on disk before the directory counts as one.
            sync()
            try directory.complete(
                DataOwner(cluster: identity.id, shards: identity.shardCount, node: configuration.node.text))
        } catch {
            // The directory is this call's own.
            try? FileManager.default.removeItem(atPath: directory.path)
            if let reason = error as? UnknownContent { throw NodeError(reason) }
            throw (error as? NodeError) ?? NodeError(.storage, "the backup can't be restored: \(error.fileSentence)")
        }
    }

    private static func copyShards(
        _ parts: BackupParts, to directory: DataDirectory, _ configuration: NodeConfiguration, level: FeatureLevel
    ) throws {
        for (number, copy) in zip(0..<UInt16.max, parts.shards) {
            try FileManager.default.copyItem(
                atPath: BackupManifest.shard(number, in: copy.directory), toPath: directory.shard(number))
        }
        let pool = StoragePool(writers: 1, readers: 1)
        defer { pool.close() }
        let map = ShardMap(shardCount: UInt16(clamping: parts.shards.count))
        let storages = try openStorages(in: directory, map, configuration, level: level, pool: pool)
        defer { for storage in storages { storage.close() } }
        for (storage, copy) in zip(storages, parts.shards) {
            guard storage.appliedIndex == copy.appliedIndex, storage.isHistoryComplete else {
                throw NodeError(.data, "a shard in \(copy.directory) is not what its backup.json says")
            }
        }
    }
}
