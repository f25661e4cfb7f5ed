import FoundationEssentials
import SystemCalls

/// Which servers to ask, and with which admin key.
package struct Target: Sendable, Hashable {
    /// `host:port` each, with `https://` before it for TLS; the first to try first; all belong to the same cluster.
    package var servers: [String]
    /// nil where none was found; calls that need it then say so.
    package var adminKey: String?
    package var nodes: [ClusterFile.Node]
    /// nil where none was found.
    package var tokenKey: ClusterFile.TokenKey?

    package static let defaultServer = "127.0.0.1:7401"
    static let serverVariable = "CHATROOM_API"
    static let keyVariable = "CHATROOM_ADMIN_KEY"

    /// - Parameters:
    ///   - server, keyFile: as given on the command line.
    ///   - directory: where the search for `.run/cluster.json` begins.
    package static func find(server: String?, keyFile: String?, environment: [String: String], directory: URL)
        throws(CommandFailure) -> Target
    {
        let given = server ?? environment[serverVariable].flatMap { $0.isEmpty ? nil : $0 }
        let file = try ClusterFile.find(from: directory)
        let nodes = file?.nodes ?? []
        var servers = nodes.map(\.api)
        var ownCluster = !servers.isEmpty
        if let given {
            let address = try address(given)
            ownCluster = servers.contains(address)
            servers = [address]
        } else if servers.isEmpty {
            servers = [defaultServer]
        }
        let key: String?
        if let keyFile {
            key = try KeyFile.read(keyFile)
        } else if let variable = environment[keyVariable], !variable.isEmpty {
            key = variable
        } else {
            // The key of the cluster in the file is nobody else's business.
            key = ownCluster ? file?.adminKey : nil
        }
        return Target(
            servers: servers, adminKey: key, nodes: given == nil ? nodes : [],
            tokenKey: ownCluster ? file?.tokenKey : nil)
    }

    /// `host:port` out of what people write, with or without `http://` and a final slash. `https://` stays.
    package static func address(_ text: String) throws(CommandFailure) -> String {
        var text = text[...]
        if text.hasPrefix("http://") { text = text.dropFirst("http://".count) }
        let isSecure = text.hasPrefix("https://")
        if isSecure { text = text.dropFirst("https://".count) }
        if text.hasSuffix("/") { text = text.dropLast() }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let isBracketed = text.hasPrefix("[") && text.contains("]:")
        guard isBracketed || parts.count == 2, let host = parts.first, !host.isEmpty,
            let port = parts.last.flatMap({ UInt16($0) }), port > 0, !text.contains("/"), !text.contains("@")
        else { throw CommandFailure(.usage, "a server is written host:port, as in \(defaultServer)") }
        return (isSecure ? "https://" : "") + text
    }
}

/// A file that holds a secret.
enum KeyFile {
    /// - Throws: when others than its owner may read the file: such a key is no secret.
    package static func read(_ path: String) throws(CommandFailure) -> String {
        guard let status = FileStatus(path: path), let data = FileManager.default.contents(atPath: path)
        else { throw CommandFailure(.usage, "the key file \(path) cannot be read") }
        guard status.isOwnersOnly else {
            throw CommandFailure(.usage, "the key file \(path) must be readable by its owner only: chmod 600 \(path)")
        }
        let key = String(decoding: data, as: UTF8.self).trimmed
        guard !key.isEmpty else { throw CommandFailure(.usage, "the key file \(path) is empty") }
        // Such as a node's keys.json.
        guard key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandFailure(.usage, "the key file \(path) is to hold an admin key's secret and nothing else")
        }
        return key
    }
}
