import FoundationEssentials
import SystemCalls

/// The owner of the data in a directory.
struct DataOwner: Sendable, Hashable, Codable {
    /// Random, made when the cluster was created.
    var cluster: String
    /// The number of shards of the cluster, fixed for its life.
    var shards: UInt16
    var node: String
}

/// Where a node keeps its data: the log, and a folder per shard.
struct DataDirectory: Sendable {
    let path: String

    var log: String { path + "/log" }
    var audit: String { system + "/audit-2.sqlite" }
    /// The file that earlier programs record in.
    var formerAudit: String { system + "/audit.sqlite" }
    var media: String { path + "/media" }
    /// How much content users have announced today.
    var uploadUse: String { path + "/uploads-today" }
    var system: String { path + "/system" }
    func shard(_ number: UInt16) -> String { path + "/shards/\(number)" }
    /// Where backups are made, beside the data: who removes the data does not remove them too.
    var backups: String { path + "-backups" }
    func backup(_ name: String) -> String { backups + "/" + name }
    /// Written last when the directory is made: without it that did not finish.
    private var marker: String { path + "/cluster.json" }

    /// Whether the cluster has listed this node with this data.
    private var takenInMarker: String { path + "/taken-in" }
    var isTakenIn: Bool { FileManager.default.fileExists(atPath: takenInMarker) }

    func markTakenIn() throws(NodeError) {
        guard !isTakenIn else { return }
        guard FileManager.default.createFile(atPath: takenInMarker, contents: Data()) else {
            throw NodeError(.data, "\(takenInMarker) can't be written")
        }
    }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }
    var isComplete: Bool { FileManager.default.fileExists(atPath: marker) }

    /// Throws when there is something already.
    func requireAbsent() throws(NodeError) {
        guard !exists else {
            throw NodeError(
                .data, "\(path) exists already: a cluster is created or joined once, in a directory of its own")
        }
    }

    /// Makes an empty directory that only its owner can read. Throws when there is something already.
    func create() throws(NodeError) {
        try requireAbsent()
        let manager = FileManager.default
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try manager.createDirectory(atPath: above, withIntermediateDirectories: true, attributes: attributes)
            // One of two that come at once fails here.
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: attributes)
        } catch {
            throw NodeError(.data, "\(path) can't be created: \(error.fileSentence)")
        }
        do {
            for name in [path + "/shards", log] {
                try manager.createDirectory(atPath: name, withIntermediateDirectories: false, attributes: attributes)
            }
        } catch {
            // It is this call's own, and would be in the way of the next one.
            try? manager.removeItem(atPath: path)
            throw NodeError(.data, "\(path) can't be created: \(error.fileSentence)")
        }
    }

    /// Says whose data this is, for ever; the last step of making it.
    func complete(_ owner: DataOwner) throws(NodeError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        do {
            try encoder.encode(owner).write(to: URL(fileURLWithPath: marker), options: .atomic)
        } catch {
            throw NodeError(.data, "\(marker) can't be written: \(error.fileSentence)")
        }
    }

    /// The owner of this data. Throws when there is none, or another node's.
    func owner(expected node: String) throws(NodeError) -> DataOwner {
        guard exists else {
            throw NodeError(
                .data,
                "\(path) does not exist: create a cluster first, with --create, or name nodes of one in link.seeds")
        }
        guard isComplete else {
            throw NodeError(
                .data, "\(path) is the rest of a creation that did not finish: remove it and create the cluster again")
        }
        let owner: DataOwner
        do {
            owner = try JSONDecoder().decode(DataOwner.self, from: Data(contentsOf: URL(fileURLWithPath: marker)))
        } catch {
            throw NodeError(.data, "\(marker) can't be read: \(error.fileSentence)")
        }
        guard owner.node == node else {
            throw NodeError(.data, "the data in \(path) is of node \(owner.node), and this is node \(node)")
        }
        guard owner.shards > 0 else { throw NodeError(.data, "\(marker) names no shards") }
        return owner
    }
}
