import FoundationEssentials

/// `.run/cluster.json`, which `cluster/up` writes (PROTOCOL.md, "Programs"): where the nodes are and the admin key.
package struct ClusterFile: Sendable, Hashable, Decodable {
    package struct Node: Sendable, Hashable, Decodable {
        package var id: String
        package var api: String
        /// Where clients connect.
        package var client: String?

        package init(id: String, api: String, client: String? = nil) {
            self.id = id
            self.api = api
            self.client = client
        }
    }

    /// A key with which an app signs tokens of its clients itself.
    package struct TokenKey: Sendable, Hashable, Decodable {
        package var kid: String
        package var secret: String
    }

    package var adminKey: String?
    package var tokenKey: TokenKey?
    package var nodes: [Node]

    static let relativePath = ".run/cluster.json"
    /// Directories above the current one that are searched.
    static let levelsMax = 64

    /// The file of the nearest directory at or above `directory`; nil when there is none.
    package static func find(from directory: URL) throws(CommandFailure) -> ClusterFile? {
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

    package static func read(_ file: URL) throws(CommandFailure) -> ClusterFile {
        do {
            return try JSONDecoder().decode(ClusterFile.self, from: Data(contentsOf: file))
        } catch {
            throw CommandFailure(.usage, "\(file.path) cannot be read as what cluster/up writes")
        }
    }
}
