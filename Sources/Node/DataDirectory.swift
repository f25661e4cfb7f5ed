import Foundation

/// Where a node keeps its data: the log, and a folder per shard.
struct DataDirectory: Sendable {
    let path: String

    var log: String { path + "/log" }
    var audit: String { system + "/audit.sqlite" }
    var system: String { path + "/system" }
    func shard(_ number: UInt16) -> String { path + "/shards/\(number)" }
    /// Written last when a cluster is created: without it the creation did not finish.
    private var marker: String { path + "/created" }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }
    var isComplete: Bool { FileManager.default.fileExists(atPath: marker) }

    /// Makes an empty directory that only its owner can read. Throws when there is something already.
    func create() throws(NodeError) {
        guard !exists else {
            throw NodeError(.data, "\(path) exists already: a cluster is created once, in a directory of its own")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path + "/shards", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try FileManager.default.createDirectory(
                atPath: log, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw NodeError(.data, "\(path) can't be created: \(error.localizedDescription)")
        }
    }

    func markComplete() throws(NodeError) {
        guard FileManager.default.createFile(atPath: marker, contents: Data("1\n".utf8)) else {
            throw NodeError(.data, "\(marker) can't be written")
        }
    }

    func requireComplete() throws(NodeError) {
        guard exists else {
            throw NodeError(.data, "\(path) does not exist: create a cluster first, with --create")
        }
        guard isComplete else {
            throw NodeError(
                .data, "\(path) is the rest of a creation that did not finish: remove it and create the cluster again")
        }
    }
}
