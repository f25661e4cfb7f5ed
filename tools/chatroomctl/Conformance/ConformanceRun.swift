import ControlClient
import EventLoop
import FoundationEssentials
import Synchronization
import TLS

/// The environment of a check: the cluster's addresses, and names that nobody else uses.
final class ConformanceRun: Sendable {
    let target: Target
    let transport: any HTTPTransport
    /// Where clients connect.
    let clientHost: String
    let clientPort: Int
    /// nil: they connect without TLS.
    let clientTLS: TLSContext?
    /// Where clients of each node connect, and where each answers the server API; the first is the one that is checked.
    let nodes: [Node]
    /// nil: no check can sign a token.
    let tokenKey: ClusterFile.TokenKey?
    let witness = ConformanceWitness()
    let loop: EventLoop
    private let unique = String(UInt32.random(in: .min ... .max), radix: 36)
    private let counter = Mutex(0)
    private let rooms = Mutex<[String]>([])

    struct Node: Sendable {
        var api: String
        var host: String
        var port: Int
    }

    /// - Parameters:
    ///   - client: `host:port`, with `wss://` or `https://` before it for TLS.
    ///   - trustFile: PEM of the certificates that are trusted instead of the system's roots.
    init(target: Target, transport: any HTTPTransport, client: String, trustFile: String? = nil) throws(CommandFailure)
    {
        let (address, isSecure) = Self.clientAddress(try Target.address(Self.webAddress(client)))
        guard let (host, port) = Self.parts(of: address) else {
            throw CommandFailure(.usage, "a client address is written host:port, as in 127.0.0.1:7400")
        }
        self.target = target
        self.transport = transport
        tokenKey = target.tokenKey
        (clientHost, clientPort) = (host, port)
        let first = target.servers.first ?? Target.defaultServer
        // The node that is checked may be given by itself, and need not be the first of the file.
        let others = target.nodes.compactMap { node -> Node? in
            guard node.api != first, let client = node.client, let (host, port) = Self.parts(of: client) else {
                return nil
            }
            return Node(api: node.api, host: host, port: port)
        }
        nodes = [Node(api: first, host: host, port: port)] + (isSecure ? [] : others)
        clientTLS = isSecure ? try NetworkTransport.tls(trustFile: trustFile, serverName: clientHost) : nil
        do {
            loop = try EventLoop(name: "conformance")
        } catch {
            throw CommandFailure(.usage, "no event loop: \(error)")
        }
        loop.start()
    }

    /// A WebSocket's scheme as that of the HTTP below it (RFC 6455 §3).
    private static func webAddress(_ text: String) -> String {
        for (scheme, web) in [("wss://", "https://"), ("ws://", "http://")] where text.hasPrefix(scheme) {
            return web + text.dropFirst(scheme.count)
        }
        return text
    }

    private static func parts(of address: String) -> (host: String, port: Int)? {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
            return nil
        }
        return (address[..<colon].filter { $0 != "[" && $0 != "]" }, port)
    }

    private static func clientAddress(_ address: String) -> (address: String, isSecure: Bool) {
        let scheme = "https://"
        return address.hasPrefix(scheme) ? (String(address.dropFirst(scheme.count)), true) : (address, false)
    }

    // MARK: - Names

    /// A name with this beginning that no other check and no other run uses.
    func name(_ base: String) -> String {
        let number = counter.withLock { count in
            count += 1
            return count
        }
        return "conformance-\(unique)-\(number)-\(base)"
    }

    // MARK: - The server API

    struct Answer: Sendable {
        var status: Int
        var body: JSONTree
        var error: JSONTree { body["error"] ?? .null }
    }

    /// A call with the admin key and its answer, whatever it is.
    func api(
        _ method: String, _ path: [String], _ body: JSONTree? = nil, query: [(String, String?)] = [],
        headers: [String: String] = [:], at server: String? = nil
    ) async throws -> Answer {
        return try await plain(
            method, AdminClient.encode(["v1"] + path, query), body: body,
            headers: ["Authorization": "Bearer \(try adminKey)"].merging(headers) { _, last in last }, at: server)
    }

    var adminKey: String {
        get throws {
            guard let key = target.adminKey else { throw Deviation("there is no admin key") }
            return key
        }
    }

    /// A call as it is given.
    func plain(
        _ method: String, _ target: String, body: JSONTree? = nil, headers: [String: String] = [:],
        at server: String? = nil
    ) async throws -> Answer {
        var call = HTTPCall(method: method, target: target, headers: headers)
        if let body {
            call.body = Data(body.line.utf8)
            call.headers["Content-Type"] = "application/json"
        }
        do {
            let answer = try await transport.send(call, to: server ?? nodes[0].api)
            let tree = try? JSONTree(parsing: answer.body)
            if let tree, target != Self.documentTarget { witness.see(tree) }
            return Answer(status: answer.status, body: tree ?? .text(String(decoding: answer.body, as: UTF8.self)))
        } catch {
            throw Deviation("\(method) \(target): \(error.message)")
        }
    }

    /// The description of the API is no message of it.
    private static let documentTarget = "/v1/openapi.json"

    /// A call with the admin key whose answer is wanted with its headers.
    func raw(_ method: String, _ path: [String], _ body: JSONTree? = nil) async throws -> HTTPText {
        let (address, isSecure) = Self.clientAddress(nodes[0].api)
        guard let (host, port) = Self.parts(of: address) else { throw Deviation("\(address) is no address") }
        let connection = ConformanceClient(loop: loop, witness: witness, isRaw: true)
        try await connection.open(host: host, port: port, tls: isSecure ? clientTLS : nil)
        let text = body?.line ?? ""
        let lines = [
            "\(method) \(AdminClient.encode(["v1"] + path, [])) HTTP/1.1", "Host: \(address)",
            "Authorization: Bearer \(try adminKey)", "Content-Type: application/json",
            "Content-Length: \(text.utf8.count)", "Connection: close", "", text,
        ]
        await connection.write(Array(lines.joined(separator: "\r\n").utf8))
        let answer = try await connection.answer()
        await connection.drop()
        return answer
    }

    /// A call that must succeed.
    @discardableResult
    func done(
        _ method: String, _ path: [String], _ body: JSONTree? = nil, query: [(String, String?)] = [],
        at server: String? = nil
    ) async throws -> JSONTree {
        let answer = try await api(method, path, body, query: query, at: server)
        guard (200..<300).contains(answer.status) else {
            throw Deviation(
                "\(method) /v1/\(path.joined(separator: "/")) was answered \(answer.status) \(answer.body.line)")
        }
        return answer.body
    }

    /// A call that must be refused with that status and code.
    func refused(
        _ method: String, _ path: [String], _ body: JSONTree? = nil, query: [(String, String?)] = [], status: Int,
        code: Int64
    ) async throws {
        let answer = try await api(method, path, body, query: query)
        let what = "\(method) /v1/\(path.joined(separator: "/"))"
        try expect(
            answer.status == status, "\(what) was answered HTTP \(answer.status), not \(status): \(answer.body.line)")
        try expect(answer.error, code: code)
    }

    // MARK: - Rooms and clients

    /// A new room; it is deleted when the run ends.
    func room(_ settings: JSONTree = [:], creator: String? = nil) async throws -> String {
        let id = name("room")
        let body: JSONTree = ["id": .text(id), "creator": .text(creator ?? name("creator"))]
        try await done("POST", ["rooms"], body.adding(settings))
        rooms.withLock { $0.append(id) }
        return id
    }

    /// A room that a check makes by itself is deleted when the run ends.
    func willDelete(_ room: String) { rooms.withLock { $0.append(room) } }

    /// A token for a user that the run signs itself: valid for an hour, until `claims` say otherwise.
    func signed(_ user: String, _ claims: JSONTree = [:]) throws -> SignedToken {
        guard let tokenKey else { throw NotChecked("no token key is known: --cluster-file FILE names one") }
        let usual: JSONTree = ["sub": .text(user), "exp": .integer(Self.now / 1000 + 3600)]
        return SignedToken(tokenKey, claims: usual.adding(claims))
    }

    /// Unix milliseconds.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// A token for a user.
    func token(_ user: String, _ claims: JSONTree = [:]) async throws -> String {
        let answer = try await done("POST", ["users", user, "token"], claims)
        guard let token = answer["token"]?.text else { throw Deviation("no token was issued: \(answer.line)") }
        return token
    }

    /// An open WebSocket, not connected yet.
    ///
    /// - Parameter answersPings: false for a client that says nothing by itself.
    /// - Parameter node: its place in `nodes`.
    func open(subprotocols: [String] = ["chatroom.v1.json"], answersPings: Bool = true, node: Int = 0) async throws
        -> ConformanceClient
    {
        let client = ConformanceClient(loop: loop, witness: witness, answersPings: answersPings)
        try await client.open(host: nodes[node].host, port: nodes[node].port, tls: clientTLS)
        let host = Self.authority(nodes[node].host, nodes[node].port)
        if let status = try await client.upgrade(host: host, subprotocols: subprotocols) {
            throw Deviation("the handshake was answered HTTP \(status)")
        }
        return client
    }

    /// The status with which a handshake is refused; nil when it is accepted.
    func handshakeStatus(path: String = "/v1/ws", origin: String? = nil, headers: [(String, String)] = [])
        async throws -> Int?
    {
        let client = ConformanceClient(loop: loop, witness: witness)
        try await client.open(host: clientHost, port: clientPort, tls: clientTLS)
        let status = try await client.upgrade(
            host: clientAuthority, path: path, subprotocols: ["chatroom.v1.json"],
            headers: headers + (origin.map { [("Origin", $0)] } ?? []))
        await client.drop()
        return status
    }

    /// A TCP connection on which nothing has been said.
    func silentConnection() async throws -> ConformanceClient {
        let client = ConformanceClient(loop: loop, witness: witness)
        try await client.open(host: clientHost, port: clientPort, tls: clientTLS)
        return client
    }

    var clientAuthority: String { Self.authority(clientHost, clientPort) }

    private static func authority(_ host: String, _ port: Int) -> String {
        "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// The scheme of an origin where a page came from the client port.
    var clientScheme: String { clientTLS == nil ? "http" : "https" }

    /// The origin of pages that the client port itself serves.
    var clientOrigin: String { "\(clientScheme)://\(clientAuthority)" }

    /// A client that has sent `connect`.
    func connected(_ user: String, claims: JSONTree = [:], _ fields: JSONTree = [:], node: Int = 0) async throws
        -> ConformanceClient
    {
        let client = try await open(node: node)
        let token = try await token(user, claims)
        try await client.ask("connect", (["token": .text(token)] as JSONTree).adding(fields))
        return client
    }

    /// A client in a room.
    func entered(_ room: String, _ user: String, _ fields: JSONTree = [:]) async throws -> ConformanceClient {
        let client = try await connected(user)
        try await client.ask("enter", (["room": .text(room)] as JSONTree).adding(fields))
        return client
    }

    /// An anonymous client.
    func anonymous() async throws -> ConformanceClient {
        let client = try await open()
        try await client.ask("connect", ["anonymous": true])
        return client
    }

    /// Looks again until it is so, for as long as something may take that the protocol does not time. The check then says
    /// what it sees.
    func wait(
        atMost limit: Duration = ConformanceClient.waitLimit, until isSo: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !isSo(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(50)) }
    }

    /// Deletes the rooms that the checks have created.
    func cleanUp() async {
        for room in rooms.withLock({ $0 }) { _ = try? await api("DELETE", ["rooms", room], query: [("now", "true")]) }
    }
}

extension ConformanceClient {
    /// Sends a TEXT; the ack.
    @discardableResult
    func send(_ room: String, _ text: String, _ more: JSONTree = [:]) async throws -> JSONTree {
        let unique = String(UInt64.random(in: .min ... .max), radix: 36)
        let fields: JSONTree = [
            "room": .text(room), "clientId": .text(unique), "type": "TEXT", "text": .text(text),
        ]
        return try await ask("send", fields.adding(more))
    }

    /// The error with which a TEXT is refused.
    func sendRefusal(_ room: String, _ text: String = "no", _ more: JSONTree = [:]) async throws -> JSONTree {
        let unique = String(UInt64.random(in: .min ... .max), radix: 36)
        let fields: JSONTree = [
            "room": .text(room), "clientId": .text(unique), "type": "TEXT", "text": .text(text),
        ]
        return try await refusal("send", fields.adding(more))
    }

    /// The message with that text.
    @discardableResult
    func message(_ text: String) async throws -> JSONTree { try await push("message") { $0["text"]?.text == text } }

    /// Texts of messages that have come so far.
    func texts() -> [String] { pushes("message").compactMap { $0["text"]?.text } }
}
