import ChatModel
import Consensus
import Foundation
import ShardPlacement
import Synchronization
import Testing
import WaitTestKit
import Wire

/// Nodes that are one cluster: real programs, each with a directory and ports of its own.
final class TestCluster: Sendable {
    /// The cluster that the tests of a suite share.
    @TaskLocal static var shared: TestCluster?

    /// For how long a session outlives its connection: long enough for an election, and for what a test does before the
    /// end of the grace, on a slow machine too.
    static let graceSeconds = 12

    /// The cluster's key.
    static let secret = String(repeating: "a key of this cluster", count: 2)

    /// n1, n2, ...: those that run, and those that may.
    let nodes: [TestNode]
    private let shardCount: Int
    /// Run still, but take no clients.
    private let drained = Mutex<Set<String>>([])

    /// Writes configurations and keys; nothing is created or started yet.
    init(_ count: Int, shards: Int = 4, rooms: [String: Int] = [:], rates: [String: Int] = TestNode.highRates) throws {
        shardCount = shards
        let ports = try FreePort.take(count)
        var session = rates
        session["graceSeconds"] = Self.graceSeconds
        nodes = try ports.enumerated().map { [session] place, port in
            let node = try TestNode([
                "nodeId": "n\(place + 1)", "shards": shards, "session": session, "rooms": rooms,
                "link": ["port": port, "seeds": ports.map { "127.0.0.1:\($0)" }],
                "media": ["roundSeconds": 1],
            ])
            var keys = TestNode.keys
            keys["cluster"] = [["secret": Self.secret]]
            try node.write(keys, to: node.keysPath, mode: 0o600)
            return node
        }
    }

    /// Creates the cluster with its first node, starts that and as many others as are to run, and waits until all
    /// shards are where they belong.
    func start(_ count: Int) async throws {
        try await nodes[0].create()
        try await nodes[0].start()
        try await start(Array(nodes[..<count].dropFirst()))
    }

    /// Starts those that do not run, and waits until all shards are where they belong.
    func start(_ nodes: [TestNode]) async throws {
        for node in nodes { node.resume() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes where !node.isRunning { group.addTask { try await node.start() } }
            try await group.waitForAll()
        }
        try await settled()
    }

    func kill() async {
        for node in nodes { await node.kill() }
    }

    // MARK: - Who is who

    func name(of node: TestNode) -> String {
        nodes.firstIndex { $0 === node }.map { "n\($0 + 1)" } ?? "?"
    }

    func node(_ name: String) throws -> TestNode {
        guard let number = Int(name.dropFirst()), nodes.indices.contains(number - 1) else {
            throw TestFailure("there is no node \(name)")
        }
        return nodes[number - 1]
    }

    /// Those that take clients.
    var answering: [TestNode] {
        let drained = drained.withLock { $0 }
        return nodes.filter { $0.answers && !drained.contains(name(of: $0)) }
    }

    func others(than node: TestNode) -> [TestNode] { answering.filter { $0 !== node } }

    /// One that answers.
    var any: TestNode {
        get throws {
            guard let node = answering.first else { throw TestFailure("no node answers") }
            return node
        }
    }

    // MARK: - Shards

    struct ShardPlace: Equatable {
        var shard: Int
        var leader: String?
        var replicas: [String]
        var applied: Int
    }

    /// Where the shards are, as a node says.
    func shards(_ node: TestNode? = nil) async throws -> [ShardPlace] {
        let answer = try await (node ?? any).api("GET", "/v1/cluster/shards")
        let list = try answer.fields()["shards"] as? [[String: Any]] ?? []
        return list.map {
            ShardPlace(
                shard: $0["shard"] as? Int ?? -1, leader: $0["leader"] as? String,
                replicas: $0["replicas"] as? [String] ?? [], applied: $0["applied"] as? Int ?? 0)
        }
    }

    /// Waits until every group has the voters that it is to keep, every shard has a leader among the nodes that run, and
    /// every node knows who leads. Before that a group may have voters that are about to go, or one too many: an even
    /// number survives no more deaths than one less.
    func settled() async throws {
        let drained = drained.withLock { $0 }
        let running = nodes.filter(\.isRunning).map { node in
            let name = name(of: node)
            return PlacementNode(server: ServerID(node: name, store: 0), isDraining: drained.contains(name))
        }
        let placement = Placement(nodes: running, shardCount: UInt16(shardCount))
        func voters(_ group: GroupPlacement?) -> Set<String> { Set((group?.voters ?? []).map(\.node)) }
        try await poll("every group where it belongs") {
            let names = Set(answering.map { name(of: $0) })
            let shards = try await shards()
            guard shards.count == shardCount,
                shards.allSatisfy({ shard in
                    Set(shard.replicas) == voters(placement.group(of: ShardID(UInt16(shard.shard))))
                        && shard.leader.map(names.contains) ?? false
                })
            else { return false }
            let list = try await any.api("GET", "/v1/cluster").fields()["nodes"] as? [[String: Any]] ?? []
            let system = list.filter { $0["systemVoter"] as? Bool ?? false }.compactMap { $0["id"] as? String }
            return Set(system) == voters(placement.system)
        }
        try await ready(answering)
    }

    /// Waits until these nodes know who leads each shard, and take clients: that they do while they hear the system
    /// group.
    func ready(_ nodes: [TestNode]) async throws {
        for node in nodes {
            try await poll("\(name(of: node)) knows all leaders") {
                try await node.api("GET", "/v1/rooms?limit=1").status == 200
            }
            try await poll("\(name(of: node)) takes clients") {
                guard let client = try? await TestClient.connected(node, "probe") else { return false }
                await client.socket.close()
                return true
            }
        }
    }

    /// Starts what does not run, so that the next test finds all nodes.
    func mend(_ count: Int) async throws { try await start(Array(nodes[..<count])) }

    /// Has a node emptied, and waits until it leads nothing.
    func drain(_ node: TestNode) async throws {
        let name = name(of: node)
        drained.withLock { _ = $0.insert(name) }
        let answer = try await any.api("POST", "/v1/cluster/nodes/\(name)/drain")
        guard answer.status == 200 else { throw TestFailure("\(name) is not drained: \(answer)") }
        try await poll("\(name) leads nothing") { try await shards().allSatisfy { ($0.leader ?? name) != name } }
    }

    // MARK: - Rooms

    /// What a node answers, asked again while that is 503: for a moment there may be no leader.
    private func answer(
        of node: TestNode?, _ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        var answer = HTTPAnswer(status: 503, body: "")
        try await poll("an answer to \(method) \(target)") {
            answer = try await (node ?? any).api(method, target, body, headers: headers)
            return answer.status != 503
        }
        return answer
    }

    /// Creates a room of a name that no other has; once, however often it has to be asked for.
    func room(_ name: String, at node: TestNode? = nil) async throws -> RoomID {
        let name = "\(name)-\(UInt32.random(in: 0 ... .max))"
        let answer = try await answer(
            of: node, "POST", "/v1/rooms", #"{"id":"\#(name)","creator":"owner"}"#, headers: ["Idempotency-Key": name])
        guard answer.status == 200, let room = RoomID(name) else {
            throw TestFailure("the room was not created: \(answer)")
        }
        return room
    }

    /// Who leads a room.
    func leader(of room: RoomID, at node: TestNode? = nil) async throws -> TestNode {
        let answer = try await answer(of: node, "GET", "/v1/rooms/\(room)")
        guard let leader = try answer.fields()["leader"] as? String else {
            throw TestFailure("the room has no leader: \(answer)")
        }
        return try self.node(leader)
    }

    /// Hands the shard of a room to a node.
    func transfer(_ room: RoomID, to node: TestNode) async throws {
        let fields = try await answer(of: nil, "GET", "/v1/rooms/\(room)").fields()
        guard let shard = fields["shard"] as? Int else { throw TestFailure("the room has no shard: \(fields)") }
        try await transfer(shard, to: node)
    }

    func transfer(_ shard: Int, to node: TestNode) async throws {
        let target = "/v1/cluster/shards/\(shard)/transfer"
        try await poll("\(name(of: node)) leads shard \(shard)") {
            try await any.api("POST", target, #"{"to":"\#(name(of: node))"}"#).status == 200
        }
    }

    /// A node by what it is to the room: the leader first, then the others.
    func roles(in room: RoomID) async throws -> (leader: TestNode, follower: TestNode, other: TestNode) {
        let leader = try await leader(of: room)
        let others = others(than: leader)
        guard others.count >= 2 else { throw TestFailure("not enough nodes answer") }
        return (leader, others[0], others[1])
    }
}

/// Gives the tests of a suite one cluster of three nodes, and ends it after the last.
struct SharedCluster: SuiteTrait, TestScoping {
    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await TestCluster.run(3) { cluster in
            try await cluster.start(3)
            try await TestCluster.$shared.withValue(cluster) { try await function() }
        }
    }
}

/// Has the clients of a suite's tests ask again what is refused with 503. Not for suites with a `Ledger`, which counts
/// the refusals itself.
struct AskingAgain: SuiteTrait, TestScoping {
    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await TestClient.$asksAgain.withValue(true) { try await function() }
    }
}

extension TestCluster {
    /// Gives a cluster of which nothing runs yet to `body`; all of it is killed afterwards.
    static func run(
        _ count: Int, shards: Int = 4, rooms: [String: Int] = [:], rates: [String: Int] = TestNode.highRates,
        _ body: (TestCluster) async throws -> Void
    ) async throws {
        let cluster = try TestCluster(count, shards: shards, rooms: rooms, rates: rates)
        do {
            try await TestSocket.$standardTLS.withValue(try TestCertificate.current?.client()) {
                try await body(cluster)
            }
        } catch {
            await cluster.kill()
            throw error
        }
        await cluster.kill()
    }

    /// The suite's, with all of its nodes at work.
    static func whole() async throws -> TestCluster {
        let cluster = try #require(shared)
        try await cluster.mend(3)
        return cluster
    }
}
