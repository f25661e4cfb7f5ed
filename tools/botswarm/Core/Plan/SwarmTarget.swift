import ChatModel
import FoundationEssentials
import SystemCalls

/// Which cluster, and with which keys.
package struct SwarmTarget: Sendable {
    package var gateways: [WebSocketAddress]
    /// `host:port` of the server API, with the admin key; nil when rooms can't be created.
    package var api: (servers: [String], adminKey: String)?
    /// nil when bots can't be users.
    package var signer: TokenSigner?

    package init(
        gateways: [WebSocketAddress], api: (servers: [String], adminKey: String)?, signer: TokenSigner?
    ) {
        self.gateways = gateways
        self.api = api
        self.signer = signer
    }

    package static let adminKeyVariable = "CHATROOM_ADMIN_KEY"
    package static let tokenKidVariable = "CHATROOM_TOKEN_KID"
    package static let tokenSecretVariable = "CHATROOM_TOKEN_SECRET"

    /// - Parameters:
    ///   - url: as given on the command line; else the nodes of the nearest `.run/cluster.json`.
    ///   - api: `host:port`, likewise.
    ///   - keysFile: a file like `cluster.json` that holds the keys, readable by its owner only.
    package static func find(
        url: String?, api: String?, keysFile: String?, environment: [String: String], directory: URL
    ) throws(SwarmFailure) -> SwarmTarget {
        let file: ClusterFile?
        if let keysFile { file = try read(keysFile) } else { file = try ClusterFile.find(from: directory) }
        guard url != nil || file != nil else {
            throw SwarmFailure(
                .usage,
                "no cluster: start one with cluster/up and work below its directory, or give --url ws://host:port")
        }
        // The keys of the cluster in the file are nobody else's business, unless they were asked for.
        let nodes = try (file?.nodes ?? []).map { node throws(SwarmFailure) in try WebSocketAddress(node.client) }
        var gateways = nodes
        var isOwn = true
        if let url {
            let address = try WebSocketAddress(url)
            gateways = [address]
            isOwn = keysFile != nil || nodes.contains { $0.authority == address.authority }
        }
        guard !gateways.isEmpty else { throw SwarmFailure(.usage, "the cluster file names no node") }
        let adminKey = environment[adminKeyVariable] ?? (isOwn ? file?.adminKey : nil)
        let servers = api.map { [$0] } ?? (isOwn ? file?.nodes.map(\.api) : nil) ?? []
        var tokenKey = isOwn ? file?.tokenKey : nil
        if let kid = environment[tokenKidVariable], let secret = environment[tokenSecretVariable] {
            tokenKey = TokenKey(kid: kid, secret: secret)
        }
        return SwarmTarget(
            gateways: gateways, api: servers.isEmpty ? nil : adminKey.map { (servers, $0) },
            signer: tokenKey.map(TokenSigner.init))
    }

    private static func read(_ path: String) throws(SwarmFailure) -> ClusterFile {
        guard let status = FileStatus(path: path), let data = FileManager.default.contents(atPath: path),
            let file = try? ClusterFile.decode(data)
        else { throw SwarmFailure(.usage, "\(path) can't be read as what cluster/up writes") }
        guard status.isOwnersOnly else {
            throw SwarmFailure(.usage, "\(path) must be readable by its owner only: chmod 600 \(path)")
        }
        return file
    }
}
