import Foundation
import Testing

@testable import Node

extension NodeConfiguration {
    /// The settings of a node of one loop and one shard, with the keys that it needs, in a directory that is made.
    /// - Parameter changes: settings besides these, or in their place.
    static func test(in directory: String, _ changes: [String: Any] = [:]) throws -> NodeConfiguration {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let keys = #"{"token": [], "admin": [{"id": "a", "secret": "0123456789abcdef0123456789abcdef"}]}"#
        let file = directory + "/keys.json"
        try #require(
            FileManager.default.createFile(
                atPath: file, contents: Data(keys.utf8), attributes: [.posixPermissions: 0o600]))
        var settings: [String: Any] = [
            "nodeId": "n1", "dataDirectory": directory + "/store", "keysFile": file, "loops": 1, "shards": 1,
            "client": ["port": 0], "api": ["port": 0],
        ]
        settings.merge(changes) { $1 }
        let path = directory + "/node.json"
        try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
        return try NodeConfiguration(path: path, environment: [:])
    }
}
