import FoundationEssentials
import SQLite

/// The content of one node's part of a backup: its `backup.json`, written when all else is on disk.
struct BackupManifest: Sendable, Hashable, Codable {
    struct Shard: Sendable, Hashable, Codable {
        var number: UInt16
        /// Up to which entry of its log the copy goes.
        var appliedIndex: UInt64
    }

    static let formatCurrent = 1

    var format = Self.formatCurrent
    /// The name of the backup: all its parts have the same.
    var name: String
    var cluster: String
    /// The shards of the cluster.
    var shardCount: UInt16
    var node: String
    /// Those that the node led, in order.
    var shards: [Shard]
    /// Up to which entry the system group's state goes, where the node led that group.
    var systemIndex: UInt64?
    /// All files of the copy besides this one, by their paths in its directory. Nil: an earlier program has written it,
    /// which noted none. Programs that do not know the field ignore it.
    var files: [String: FileSum]?

    static func shard(_ number: UInt16, in directory: String) -> String { directory + "/shards/\(number)" }
    static func systemState(in directory: String) -> String { directory + "/system/state" }
    static func media(in directory: String) -> String { directory + "/media" }
    private static func path(in directory: String) -> String { directory + "/backup.json" }

    func write(to directory: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try FileSystem.replace(Self.path(in: directory), with: Array(try encoder.encode(self)))
    }

    /// The part that is read first: the rest depends on it.
    private struct Head: Codable {
        var format: Int64
    }

    /// Throws when there is none, or one of another format.
    static func read(from directory: String) throws(NodeError) -> BackupManifest {
        let path = path(in: directory)
        let bytes: Data
        let head: Head
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            head = try JSONDecoder().decode(Head.self, from: bytes)
        } catch {
            throw NodeError(.data, "\(path) can't be read: \(directory) is no backup, or one that did not finish")
        }
        guard head.format == formatCurrent else {
            throw NodeError(
                .data, FileVersion.sentence(path, found: head.format, own: Int64(formatCurrent)))
        }
        do {
            return try JSONDecoder().decode(BackupManifest.self, from: bytes)
        } catch {
            throw NodeError(.data, "\(path) is damaged: \(error)")
        }
    }
}
