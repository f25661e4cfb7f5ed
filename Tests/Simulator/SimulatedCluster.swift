import EventLoop
import Foundation
import Logging
import Node
import ServiceLifecycle
import SimulatedSystem
import Synchronization

/// Nodes on machines of their own, with everything that a node is made of.
public final class SimulatedCluster: Sendable {
    public struct Layout: Sendable {
        public var nodes = 3
        public var loops = 1
        public var shards = 4
        /// So many viewers that no node may turn one away, and silent ones.
        public var isCrowded = false
        /// Barrage items that a viewer is shown a second; nil: the node's default, which no story reaches.
        public var barragePerViewer: Int?
        /// The time that a sync takes, and that bytes are on their way at least, so that much is under way at any time;
        /// nil: less than a millisecond.
        public var slowMilliseconds: UInt64?
        public init() {}

        var syncNanoseconds: UInt64 { slowMilliseconds.map { $0 * 1_000_000 } ?? 300_000 }
    }

    private struct Place: Sendable {
        var host: SimulatedHost?
        var group: ServiceGroup?
        /// How many machines it has had, so that each one's files are its own.
        var life = 0
        /// Why its program has ended by itself.
        var failure: String?
    }

    public let layout: Layout
    private let directory: String
    private let logger: Logger
    private let places: Mutex<[Place]>
    /// Of the one who looks on and gives orders.
    private let loop: EventLoop

    static let adminKey = "simulated-admin-key-0123456789abcdef"
    static let tokenKid = "default"
    static let tokenSecret = "simulated-token-key-0123456789abcdef0123456789"

    public init(_ layout: Layout, directory: String, logger: Logger) throws {
        self.layout = layout
        self.directory = directory
        self.logger = logger
        places = Mutex(Array(repeating: Place(), count: layout.nodes))
        loop = try EventLoop(name: "observer")
        loop.start()
        if let milliseconds = layout.slowMilliseconds { sim_latency(milliseconds * 1_000_000) }
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let keys = """
            {"admin": [{"id": "admin", "secret": "\(Self.adminKey)"}],
             "token": [{"kid": "\(Self.tokenKid)", "algorithm": "HS256", "use": "client", "secret": "\(Self.tokenSecret)"}],
             "cluster": [{"secret": "simulated-cluster-key-0123456789abcdef0123456789"}]}
            """
        try write(keys, to: keysFile)
    }

    private var keysFile: String { directory + "/keys.json" }

    private func write(_ text: String, to path: String) throws {
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    }

    public func address(of node: Int) -> String { "127.0.0.\(node + 1)" }
    public static let clientPort = 7400
    static let apiPort = 7401

    private func dataDirectory(_ node: Int, _ life: Int) -> String { "\(directory)/n\(node + 1)-\(life)" }

    private func configuration(_ node: Int, life: Int) throws -> NodeConfiguration {
        let address = address(of: node)
        let seeds = (0..<layout.nodes).map { "\"\(self.address(of: $0)):7402\"" }.joined(separator: ", ")
        let crowd = """
            "session": {"heartbeatSeconds": 3600},
             "limits": {"connections": 2000000, "connectionsPerAddress": 2000000, "handshakesPerSecond": 1000000,
                 "connectsPerSecond": 1000000, "entersPerSecond": 1000000, "roomEntersPerSecond": 1000000}
            """
        let rooms = layout.barragePerViewer.map { #""rooms": {"barragePerViewer": \#($0)}, "# } ?? ""
        let text = """
            {"nodeId": "n\(node + 1)", "dataDirectory": "\(dataDirectory(node, life))", "keysFile": "\(keysFile)",
             "loops": \(layout.loops), "shards": \(layout.shards), "log": {"level": "debug"},
             "client": {"host": "\(address)", "port": \(Self.clientPort)}, "api": {"host": "\(address)", "port": \(Self.apiPort)},
             "link": {"host": "\(address)", "port": 7402, "seeds": [\(seeds)]},
             \(rooms)\(layout.isCrowded ? crowd : #""limits": {"connectionsPerAddress": 100000}"#)}
            """
        let path = "\(directory)/n\(node + 1)-\(life).json"
        try write(text, to: path)
        return try NodeConfiguration(path: path, environment: [:])
    }

    /// Makes the cluster at the first node.
    public func create() async throws {
        let configuration = try configuration(0, life: 0)
        let logger = logger
        let outcome = Mutex<Result<Void, any Error>?>(nil)
        let host = SimulatedHost(place: 1)
        host.run("create") {
            do {
                try await ChatroomNode.createCluster(configuration, logger: logger)
                outcome.withLock { $0 = .success(()) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        while outcome.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(5)) }
        host.kill()
        try outcome.withLock { $0 }?.get()
    }

    /// What a node begins with.
    public enum Disk: Sendable {
        /// The files of its last machine.
        case lastDisk
        case nothing
        /// What ``keepCopy(of:)`` has kept.
        case copy
    }

    private func copyDirectory(_ node: Int) -> String { "\(directory)/n\(node + 1)-copy" }

    /// Copies the disk of a node that does not run.
    public func keepCopy(of node: Int) throws {
        let life = places.withLock { $0[node].life }
        try? FileManager.default.removeItem(atPath: copyDirectory(node))
        try FileManager.default.copyItem(atPath: dataDirectory(node, life), toPath: copyDirectory(node))
    }

    /// Starts a node on a new machine.
    public func start(_ node: Int, from disk: Disk = .lastDisk) throws {
        let life = places.withLock { places in
            places[node].life += 1
            places[node].failure = nil
            return places[node].life
        }
        let former = dataDirectory(node, life - 1)
        if FileManager.default.fileExists(atPath: former) {
            switch disk {
            case .lastDisk: try FileManager.default.copyItem(atPath: former, toPath: dataDirectory(node, life))
            case .copy: try FileManager.default.copyItem(atPath: copyDirectory(node), toPath: dataDirectory(node, life))
            case .nothing: break
            }
            try? FileManager.default.removeItem(atPath: former)
        }
        let configuration = try configuration(node, life: life)
        let logger = logger
        let host = SimulatedHost(place: UInt8(node + 1))
        sim_sync_time(host.number, layout.syncNanoseconds)
        places.withLock { $0[node].host = host }
        host.run("node") { [self] in
            do {
                let program = try await ChatroomNode(
                    configuration: configuration, logger: logger, logControl: LogControl(logger.logLevel))
                let group = ServiceGroup(
                    configuration: ServiceGroupConfiguration(
                        services: [.init(service: program, successTerminationBehavior: .gracefullyShutdownGroup)],
                        logger: logger))
                places.withLock { $0[node].group = group }
                try await group.run()
                places.withLock { $0[node].host = nil }
            } catch {
                places.withLock { $0[node].failure = "\(error)" }
            }
        }
    }

    public func host(_ node: Int) -> SimulatedHost? { places.withLock { $0[node].host } }

    /// Why programs have ended by themselves.
    public var failures: [String] {
        places.withLock { places in
            places.indices.compactMap { node in places[node].failure.map { "n\(node + 1) has ended: \($0)" } }
        }
    }

    public func kill(_ node: Int, withMachine: Bool = false) {
        let host = places.withLock { places in exchange(&places[node].host, with: nil) }
        host?.kill(withMachine: withMachine)
        if withMachine, let host { sim_lose_unsynced(host.number) }
    }

    /// SIGTERM; returns when the program has ended.
    public func stop(_ node: Int) async throws {
        let (group, host) = places.withLock { ($0[node].group, $0[node].host) }
        guard let host, let group else { return }
        host.run("stop") { await group.triggerGracefulShutdown() }
        while places.withLock({ $0[node].host != nil && $0[node].failure == nil }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        host.kill()
    }

    /// Waits until a node answers that it is ready, and that all shards have leaders. False when it does not in time.
    public func ready(_ node: Int, within limit: Duration) async throws -> Bool {
        let end = SimulatedTime.now + limit
        while SimulatedTime.now < end {
            if let answer = await call(node, "GET", "/readyz"), answer.status == 200,
                await text(node, "/v1/cluster/health")?.contains(#""withoutLeader":0"#) == true
            {
                return true
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// One call of a node's server API.
    func call(
        _ node: Int, _ method: String, _ path: String, _ body: String = "", id: String? = nil,
        within milliseconds: UInt64 = 5_000
    ) async -> SimulatedCall.Answer? {
        let answer = await SimulatedCall(host: address(of: node), port: Self.apiPort, adminKey: Self.adminKey)
            .send(method, path, body, id: id, on: loop, within: milliseconds)
        logger.debug("\(method) n\(node + 1) \(path): \(answer.map { "\($0.status)" } ?? "no answer")")
        return answer
    }

    /// Waits until each shard has as many complete replicas as it may.
    public func replicated(within limit: Duration) async throws -> Bool {
        let end = SimulatedTime.now + limit
        while SimulatedTime.now < end {
            for node in 0..<layout.nodes {
                let lists = await shardsText(node).split(separator: "\"replicas\":[").dropFirst()
                let full = lists.count { list in
                    list.prefix { $0 != "]" }.split(separator: ",").count >= min(3, layout.nodes)
                }
                if full == layout.shards { return true }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        return false
    }

    /// Where the replicas of all shards are, as a node knows it.
    public func shardsText(_ node: Int) async -> String { await text(node, "/v1/cluster/shards") ?? "" }

    /// What a node tells; nil when it refuses.
    func text(_ node: Int, _ path: String) async -> String? {
        guard let answer = await call(node, "GET", path), answer.status == 200 else { return nil }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// Where a shard is, and who leads it.
    struct Placement: Decodable, Sendable {
        var shard: Int
        var leader: String?
        var replicas: [String]?
    }

    func placements(asking node: Int) async -> [Placement] {
        struct Shards: Decodable { var shards: [Placement] }
        guard let text = await text(node, "/v1/cluster/shards") else { return [] }
        return (try? JSONDecoder().decode(Shards.self, from: Data(text.utf8)).shards) ?? []
    }
}
