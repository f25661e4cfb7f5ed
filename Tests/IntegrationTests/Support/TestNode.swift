import ChatModel
import Foundation
import Synchronization
import TLS
import Testing
import WaitTestKit

/// A node of one's own: the real program, with data and ports that nobody else uses.
final class TestNode: Sendable {
    static let adminKey = "an admin key that only these tests know"
    static let tokenSecret = "a token secret that only these tests know"
    static let shardCount = 16
    static let adminTokenSecret = "the secret of an admin's token, for these tests"

    /// A `chatroomd` that nodes run instead of the one that was built beside the tests.
    @TaskLocal static var executable: URL?

    private struct Running {
        var program: Program
        var clientPort: Int
        var apiPort: Int
        var linkPort: Int?
        var isPaused = false
    }

    let directory: String
    private let running = Mutex<Running?>(nil)

    var configPath: String { directory + "/config.json" }
    var keysPath: String { directory + "/keys.json" }
    var dataPath: String { directory + "/data" }

    /// Writes configuration and keys; nothing is created or started yet.
    /// - Parameter settings: what differs from a configuration of high rates and free ports; nested objects replace
    ///   whole ones, but for the ports, which stay free ones.
    init(_ settings: [String: Any] = [:]) throws {
        directory = FileManager.default.temporaryDirectory.path + "/chatroom-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try write(Self.keys, to: keysPath, mode: 0o600)
        var all: [String: Any] = [
            "nodeId": "n1", "dataDirectory": dataPath, "keysFile": keysPath, "allowAnonymous": true,
            "client": ["port": 0], "api": ["port": 0], "session": Self.highRates,
            // Fewer than by default: most tests start a node of their own.
            "shards": Self.shardCount,
        ]
        if let certificate = TestCertificate.current { all["tls"] = try certificate.write(to: directory) }
        all.merge(settings) { $1 }
        for door in ["client", "api"] {
            guard var section = all[door] as? [String: Any], section["port"] == nil else { continue }
            section["port"] = 0
            all[door] = section
        }
        try write(all, to: configPath, mode: 0o600)
    }

    /// The keys file of a node that speaks to no other.
    static var keys: [String: Any] {
        [
            "admin": [["id": "admin", "secret": adminKey]],
            "token": [
                ["kid": "default", "algorithm": "HS256", "use": "client", "secret": tokenSecret],
                ["kid": "staff", "algorithm": "HS256", "use": "admin", "secret": adminTokenSecret],
            ],
        ]
    }

    /// Session settings with which no rate is ever refused.
    static let highRates: [String: Int] = [
        "changesPerSecond": 1_000_000, "changesBurst": 1_000_000, "readsPerSecond": 1_000_000,
        "changeBytesPerSecond": 1_000_000_000, "changeBytesBurst": 1_000_000_000,
    ]

    func write(_ object: [String: Any], to path: String, mode: Int) throws {
        let data = try JSONSerialization.data(withJSONObject: object)
        guard FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: mode]) else {
            throw TestFailure("\(path) can't be written")
        }
    }

    deinit {
        running.withLock { $0?.program.signal(SIGKILL) }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Puts other settings in the place of those that the node was made with, for its next start or reload.
    func rewrite(_ change: (inout [String: Any]) -> Void) throws {
        var all = try settings()
        change(&all)
        try write(all, to: configPath, mode: 0o600)
    }

    /// The configuration as it is written.
    private func settings() throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: configPath))
        guard let all = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw TestFailure("the configuration is no object")
        }
        return all
    }

    /// Creates the cluster, starts the node and gives it to `body`; it is killed afterwards.
    /// - Parameter encoding: what the clients that `body` makes speak.
    static func run(
        _ settings: [String: Any] = [:], encoding: ClientEncoding = TestClient.standardEncoding,
        _ body: (TestNode) async throws -> Void
    ) async throws {
        let node = try TestNode(settings)
        try await node.create()
        try await node.start()
        do {
            try await TestSocket.$standardTLS.withValue(try TestCertificate.current?.client()) {
                try await TestClient.$standardEncoding.withValue(encoding) { try await body(node) }
            }
        } catch {
            await node.kill()
            throw error
        }
        await node.kill()
    }

    /// Makes the running node read its files again, and waits until it has. The line that it logged.
    @discardableResult
    func reload() async throws -> String {
        guard let program = running.withLock({ $0?.program }) else { throw TestFailure("the node does not run") }
        let before = program.errorLines(containing: Self.reloaded).count
        program.signal(SIGHUP)
        return try await program.errorLine(containing: Self.reloaded, after: before)
    }

    /// Waits until the running node has logged a line with a text; the first one.
    func errorLine(containing text: String) async throws -> String {
        guard let program = running.withLock({ $0?.program }) else { throw TestFailure("the node does not run") }
        return try await program.errorLine(containing: text, after: 0)
    }

    private static let reloaded = "certificates, keys and limits"

    /// Sends a signal.
    func signal(_ number: Int32) { running.withLock { $0?.program }?.signal(number) }

    /// Stops the process where it is, as a machine without time would. Waits until it stands still: one of its threads has to
    /// run for that, and on a busy machine the others go on until it does.
    func pause() {
        running.withLock { $0?.isPaused = true }
        signal(SIGSTOP)
        let deadline = ContinuousClock.now + Program.limit
        while !stands, ContinuousClock.now < deadline { usleep(1_000) }
    }

    /// Whether each of its threads is stopped, or has ended.
    private var stands: Bool {
        let tasks = "/proc/\(pid)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return threads.allSatisfy { thread in
            guard let line = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8),
                let name = line.lastIndex(of: ")")
            else { return true }
            return "TtZX".contains(line[name...].dropFirst(2).first ?? "T")
        }
    }

    /// Lets it go on.
    func resume() {
        signal(SIGCONT)
        running.withLock { $0?.isPaused = false }
    }

    /// Whether it has been started, and neither killed nor paused since.
    var answers: Bool { running.withLock { $0.map { !$0.isPaused } ?? false } }
    var isRunning: Bool { running.withLock { $0 != nil } }

    func create() async throws {
        let end = try await launched("--create").ended()
        guard end.status == 0 else { throw TestFailure("the cluster was not created: \(end.errors)") }
    }

    private func launched(_ arguments: String...) throws -> Program {
        let all = ["--config", configPath] + arguments
        guard let executable = Self.executable else { return try Program("chatroomd", all) }
        return try Program(executable: executable, all, environment: [:])
    }

    /// Starts the node and waits until it serves; one that is a cluster by itself until it leads all its shards, too,
    /// because calls before that are refused.
    func start() async throws {
        let program = try launched()
        guard let line = try await program.errorLine(where: { $0.contains("node is serving") }) else {
            throw TestFailure("the node did not start: \(program.errors)")
        }
        guard let client = Self.port("client", in: line), let api = Self.port("api", in: line) else {
            throw TestFailure("no ports in: \(line)")
        }
        let link = Self.port("link", in: line)
        running.withLock { $0 = Running(program: program, clientPort: client, apiPort: api, linkPort: link) }
        guard link == nil else { return }
        try await TestSocket.$standardTLS.withValue(try apiTLS()) {
            try await poll("readiness") {
                guard try await self.api("GET", "/readyz", bearer: nil).status == 200 else { return false }
                // A test without an admin key can only wait for the node itself. An older program has no such call: its
                // readiness is that of all shards.
                let health = try await self.api("GET", "/v1/cluster/health")
                return [401, 404].contains(health.status)
                    || health.status == 200 && health.body.contains(#""withoutLeader":0"#)
            }
        }
    }

    /// What its API port speaks.
    private func apiTLS() throws -> TLSContext? {
        let api = try settings()["api"] as? [String: Any]
        guard api?["tls"] as? Bool != false else { return nil }
        return try TestCertificate.current?.client()
    }

    private static func port(_ name: String, in line: String) -> Int? {
        line.split(whereSeparator: { " ,[]".contains($0) }).lazy.compactMap { word -> Int? in
            let halves = word.split(separator: "=")
            return halves.count == 2 && halves[0] == name ? Int(halves[1]) : nil
        }.first
    }

    /// Kills the node as a power cut would, and waits until it is gone.
    func kill() async {
        guard let program = running.withLock({ $0?.program }) else { return }
        program.signal(SIGKILL)
        do { _ = try await program.ended() } catch { Issue.record(error) }
        running.withLock { $0 = nil }
    }

    /// Stops the node in an orderly way. Its exit status, and what it logged.
    func stop() async throws -> (status: Int32, errors: String)? {
        guard let program = running.withLock({ $0?.program }) else { return nil }
        program.signal(SIGTERM)
        let end = try await program.ended()
        running.withLock { $0 = nil }
        return (end.status, end.errors)
    }

    /// Of the node's process; 0 while there is none.
    var pid: pid_t { running.withLock { $0?.program.pid ?? 0 } }
    var clientPort: Int { running.withLock { $0?.clientPort ?? 0 } }
    var apiPort: Int { running.withLock { $0?.apiPort ?? 0 } }
    /// nil for a node without cluster keys.
    var linkPort: Int? { running.withLock { $0?.linkPort } }

    /// A token that the app has signed itself.
    func token(_ user: String, rooms: [String]? = nil, seconds: Int = 600) throws -> String {
        var token = TestToken()
        token.claims["sub"] = user
        token.claims["exp"] = Int(Date().timeIntervalSince1970) + seconds
        if let rooms { token.claims["rooms"] = rooms }
        return try token.signed()
    }

    // MARK: - Server API

    /// Calls the server API, with the admin key unless a test says otherwise.
    func api(
        _ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:],
        bearer: String? = TestNode.adminKey
    ) async throws -> HTTPAnswer {
        let socket = TestSocket()
        try await socket.open(port: apiPort)
        var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if let bearer { text += "Authorization: Bearer \(bearer)\r\n" }
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        await socket.write(Array((text + "\r\n" + (body ?? "")).utf8))
        let answer = try await socket.received("an HTTP answer") { HTTPAnswer.parse($0) }
        await socket.close()
        return answer
    }

    /// Creates a room.
    /// - Parameter fields: what else the body has, beginning with a comma.
    @discardableResult
    func createRoom(_ room: String, creator: String = "owner", fields: String = "") async throws -> RoomID {
        let answer = try await api("POST", "/v1/rooms", #"{"id":"\#(room)","creator":"\#(creator)"\#(fields)}"#)
        guard (200...201).contains(answer.status), let id = RoomID(room) else {
            throw TestFailure("the room was not created: \(answer)")
        }
        return id
    }

    /// The sum of a counter over all labels that contain `labels`.
    func metric(_ name: String, labels: String = "") async throws -> Double {
        try await api("GET", "/metrics").body.split(separator: "\n").filter {
            // No text contains the empty one.
            $0.hasPrefix(name) && (labels.isEmpty || $0.contains(labels))
        }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }
}
