import FoundationEssentials

/// `.run/cluster.json`, which `cluster/up` writes (PROTOCOL.md, "Programs").
package struct ClusterFile: Sendable, Hashable, Decodable {
    package struct Node: Sendable, Hashable, Decodable {
        package var id: String
        package var client: String
        package var api: String
    }

    package var adminKey: String?
    package var tokenKey: TokenKey?
    package var nodes: [Node]

    private static let relativePath = ".run/cluster.json"
    private static let levelsMax = 64

    /// The file of the nearest directory at or above `directory`; nil when there is none.
    package static func find(from directory: URL) throws(SwarmFailure) -> ClusterFile? {
        var directory = directory.standardizedFileURL
        for _ in 0..<levelsMax {
            let file = directory.appendingPathComponent(relativePath)
            if FileManager.default.fileExists(atPath: file.path) {
                guard let data = FileManager.default.contents(atPath: file.path), let found = try? decode(data) else {
                    throw SwarmFailure(.usage, "\(file.path) can't be read as what cluster/up writes")
                }
                return found
            }
            let parent = directory.deletingLastPathComponent()
            guard parent.path != directory.path else { return nil }
            directory = parent
        }
        return nil
    }

    package static func decode(_ data: Data) throws -> ClusterFile {
        try JSONDecoder().decode(ClusterFile.self, from: data)
    }
}

/// An HS256 key with which an app signs its users' tokens.
package struct TokenKey: Sendable, Hashable, Decodable {
    package var kid: String
    /// Its UTF-8 bytes are the key.
    package var secret: String

    package init(kid: String, secret: String) {
        self.kid = kid
        self.secret = secret
    }
}
