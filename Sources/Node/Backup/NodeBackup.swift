import ChatModel
import FoundationEssentials
import History
import Media
import RoomProtocol
import Rooms
import SQLite
import Synchronization
import SystemCalls
import SystemGroupHost
import Wire

/// Makes this node's part of a backup: copies of what it leads, while that goes on.
final class NodeBackup: Sendable {
    private let node: NodeID
    private let data: DataDirectory
    private let rooms: RoomHost
    private let system: SystemGroup
    private let cluster: ClusterIdentity
    /// One at a time.
    private let isBusy = Mutex(false)

    init(_ configuration: NodeConfiguration, rooms: RoomHost, system: SystemGroup, cluster: ClusterIdentity) {
        node = configuration.node
        data = DataDirectory(path: configuration.dataDirectory)
        self.rooms = rooms
        self.system = system
        self.cluster = cluster
    }

    /// The name of a backup that begins now: a time in UTC.
    static func name(at time: Timestamp) -> String {
        // From the middle of the millisecond, so that it is not rounded to the one before.
        Date(timeIntervalSince1970: (Double(time.milliseconds) + 0.5) / 1000).formatted(
            Date.ISO8601FormatStyle(
                dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: true))
    }

    /// It becomes the name of a directory, and comes from another node.
    private static func isName(_ text: String) -> Bool {
        text.utf8.count <= 64 && text.first?.isNumber == true
            && text.allSatisfy { $0.isASCII && ($0.isNumber || $0.isLetter || $0 == ".") }
    }

    /// Throws 409 while another one is being made or when there is one of that name, 503 when something can't be read or
    /// written; then nothing of it is left.
    func make(_ name: String) async throws(ChatError) -> NodeAnswer {
        let directory = try begin(name)
        defer { isBusy.withLock { $0 = false } }
        guard !FileManager.default.fileExists(atPath: directory) else {
            throw ChatError(.conflict, "\(node) has a backup \(name) already")
        }
        do {
            return try await copy(to: directory, name)
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw ChatError(.unavailable, "\(node) can't write \(directory): \(error)", retryAfterMs: 1000)
        }
    }

    /// Removes this node's part of a backup that did not become a whole one; what is not there is no error.
    @concurrent func discard(_ name: String) async throws(ChatError) {
        let directory = try begin(name)
        defer { isBusy.withLock { $0 = false } }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The directory of a backup that is begun or discarded by the caller alone.
    private func begin(_ name: String) throws(ChatError) -> String {
        guard Self.isName(name) else { throw ChatError(.badParameter, "\(name) is not a backup's name") }
        let isFirst = isBusy.withLock { busy in
            defer { busy = true }
            return !busy
        }
        guard isFirst else { throw ChatError(.conflict, "\(node) is making another backup") }
        return data.backup(name)
    }

    @concurrent private func copy(to directory: String, _ name: String) async throws -> NodeAnswer {
        try FileSystem.makeDirectory(directory + "/shards")
        var manifest = BackupManifest(
            name: name, cluster: cluster.id, shardCount: cluster.shardCount, node: node.text, shards: [])
        if let state = await system.copy() {
            try await SystemGroup.write(state, to: BackupManifest.systemState(in: directory))
            manifest.systemIndex = state.appliedIndex
        }
        let copied = try await rooms.backUp { BackupManifest.shard($0.number, in: directory) }
        for (shard, index) in copied.sorted(by: { $0.key < $1.key }) {
            try FileSystem.syncDirectory(of: BackupManifest.shard(shard.number, in: directory) + "/")
            manifest.shards.append(BackupManifest.Shard(number: shard.number, appliedIndex: index))
        }
        // After the rooms: content that they name is there, unless it has been recalled meanwhile.
        try MediaStore.copy(from: data.media, to: BackupManifest.media(in: directory), byLinks: true)
        for path in [directory + "/shards/", directory + "/", directory, data.backups] {
            try FileSystem.syncDirectory(of: path)
        }
        // All that was copied is closed and on disk.
        manifest.files = try await BackupManifest.sums(in: directory)
        try manifest.write(to: directory)
        let copy = BackupCopy(node: node, directory: directory, bytes: Self.bytes(in: directory))
        return .backup(copy, shards: copied.keys.sorted(), hasSystem: manifest.systemIndex != nil)
    }

    private static func bytes(in directory: String) -> Int64 {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return names.reduce(0) { sum, name in
            guard let status = FileStatus(path: directory + "/" + name), status.isRegular else { return sum }
            return sum + status.sizeBytes
        }
    }
}
