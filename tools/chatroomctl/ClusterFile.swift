import FoundationEssentials

/// `.run/cluster.json`, which `cluster/up` writes (PROTOCOL.md, "Programs"): where the nodes are and the admin key.
struct ClusterFile: Sendable, Hashable, Decodable {
    struct Node: Sendable, Hashable, Decodable {
        var id: String
        var api: String
        /// Where clients connect.
        var client: String?
    }

    /// A key with which an app signs tokens of its clients itself.
    struct TokenKey: Sendable, Hashable, Decodable {
        var kid: String
        var secret: String
    }

    var adminKey: String?
    var tokenKey: TokenKey?
    var nodes: [Node]

    static let relativePath = ".run/cluster.json"
    /// Directories above the current one that are searched.
    static let levelsMax = 64

    /// The file of the nearest directory at or above `directory`; nil when there is none.
    static func find(from directory: URL) throws(CommandFailure) -> ClusterFile? {
        var directory = directory.standardizedFileURL
        for _ in 0..<levelsMax {
            let file = directory.appendingPathComponent(relativePath)
            if FileManager.default.fileExists(atPath: file.path) { return try read(file) }
            let parent = directory.deletingLastPathComponent()
            guard parent.path != directory.path else { return nil }
            directory = parent
        }
        return nil
    }

    static func read(_ file: URL) throws(CommandFailure) -> ClusterFile {
        do {
            return try JSONDecoder().decode(ClusterFile.self, from: Data(contentsOf: file))
        } catch {
            throw CommandFailure(.usage, "\(file.path) cannot be read as what cluster/up writes")
        }
    }
}
