import ChatModel
import Consensus
import EventLoop
import Foundation
import GroupDriver
import History
import LogStore
import Logging
import Replication
import ReplicationDriver
import RoomCore
import RoomProtocol
import ShardPlacement
import StorageTestKit
import Synchronization
import SystemGroupHost
import Telemetry
import Testing
import WaitTestKit
import Webhooks

@testable import Rooms

/// Links between nodes in one process: everything arrives at once, unless an end is cut off.
final class MemoryLink: Sendable {
    private struct State {
        var rooms: [NodeID: RoomHost] = [:]
        var systems: [NodeID: SystemGroup] = [:]
        var cut: Set<NodeID> = []
        var begunSnapshots = 0
        var historyParts = 0
        /// As replicas have been told.
        var presence: [NodeID: PresenceReplica] = [:]
        var isPresenceCut = false
        /// How often a leader began to tell a replica, and it was lost.
        var lostBeginnings = 0

        func isOpen(_ from: NodeID, _ to: NodeID) -> Bool { from != to && !cut.contains(from) && !cut.contains(to) }
    }

    private let state = Mutex(State())

    /// One node's end.
    struct End: ConsensusTransport, ReplicationTransport {
        let node: NodeID
        let link: MemoryLink

        func send(_ messages: [RaftMessage]) {
            for message in messages { link.deliver(message, from: node) }
        }

        func send(_ message: ReplicationMessage, to node: NodeID) -> Bool {
            link.deliver(message, from: self.node, to: node)
        }
    }

    func end(of node: NodeID) -> End { End(node: node, link: self) }

    func connect(_ node: NodeID, _ rooms: RoomHost?) {
        state.withLock {
            $0.rooms[node] = rooms
            // It begins with nothing.
            $0.presence[node] = nil
        }
    }

    func connect(_ node: NodeID, _ system: SystemGroup?) { state.withLock { $0.systems[node] = system } }

    func system(of node: NodeID) -> SystemGroup? { state.withLock { $0.cut.contains(node) ? nil : $0.systems[node] } }

    func setCut(_ node: NodeID, _ isCut: Bool) {
        state.withLock { state in
            if isCut { state.cut.insert(node) } else { state.cut.remove(node) }
        }
    }

    var begunSnapshots: Int { state.withLock { $0.begunSnapshots } }
    var historyParts: Int { state.withLock { $0.historyParts } }

    // Messages are handed over under the lock: who has been disconnected gets nothing more, and its loop may end.
    // It only makes a job of them, as it is on another loop; a node has no link to itself.

    private func deliver(_ message: RaftMessage, from: NodeID) {
        state.withLock { state in
            guard let to = NodeID(message.to.node), state.isOpen(from, to) else { return }
            if message.group == .system {
                state.systems[to]?.receive([message])
            } else {
                state.rooms[to]?.receive([message])
            }
        }
    }

    fileprivate func deliver(_ update: PresenceUpdate, from: NodeID, to: NodeID) {
        state.withLock { state in
            guard state.isOpen(from, to), !state.isPresenceCut else {
                if update.isFirst { state.lostBeginnings += 1 }
                return
            }
            state.presence[to, default: PresenceReplica()].take(update, at: Timestamp(0), seconds: 10)
            state.rooms[to]?.receive(update)
        }
    }

    /// From here on no replica is told who is at the leader's node.
    func cutPresence() { state.withLock { $0.isPresenceCut = true } }

    func restorePresence() { state.withLock { $0.isPresenceCut = false } }

    var lostBeginnings: Int { state.withLock { $0.lostBeginnings } }

    /// The users whom a node was told of.
    func presence(at node: NodeID) -> [String] {
        state.withLock { state in
            var replica = state.presence[node] ?? PresenceReplica()
            return replica.takeAll(at: Timestamp(0)).values.joined().map(\.visitor.user.text).sorted()
        }
    }

    private func deliver(_ message: ReplicationMessage, from: NodeID, to: NodeID) -> Bool {
        state.withLock { state in
            guard state.isOpen(from, to) else { return false }
            switch message.body {
            case .beginSnapshot: state.begunSnapshots += 1
            case .history: state.historyParts += 1
            default: break
            }
            if message.group == .system {
                guard let system = state.systems[to] else { return false }
                system.receive(replication: message, from: from)
            } else {
                guard let rooms = state.rooms[to] else { return false }
                rooms.receive(replication: message, from: from)
            }
            return true
        }
    }
}

/// The disks of a node on which its databases are: of the log, and of the shard's files. They outlive the node.
final class HostedDisks: Sendable {
    let log = FaultDisk()
    let storage = FaultDisk()
}

/// A node of a `HostedCluster`: one shard on one loop.
final class HostedNode: Sendable {
    let id: NodeID
    let rooms: RoomHost
    /// The server API's, to the rooms of this node alone.
    let calls: RoomCalls
    let told = ToldOutputs()
    let storage: ShardStorage
    let store: LogStore
    /// Where the log's disk is probed.
    let files = FaultFiles()
    let cluster = ClusterView(shardCount: 1)
    private let link: MemoryLink
    private let loop: EventLoop
    private let pool: StoragePool
    private let callbacks: CallbackClient

    /// - Parameters:
    ///   - create: makes the shard's group; else the node joins, or goes on with what is in the directory.
    ///   - disks: nil: the machine's own.
    init(
        _ name: String, _ directory: String, _ link: MemoryLink, create: Bool, isNew: Bool, disks: HostedDisks?,
        policy: RoomPolicy
    ) async throws {
        id = try #require(NodeID(name))
        self.link = link
        loop = try EventLoop(name: name)
        loop.start()
        callbacks = CallbackClient(loop: loop)
        var log = LogStoreConfiguration(directory: directory + "/log")
        log.create = isNew
        log.files = files
        log.probeInterval = .milliseconds(300)
        log.vfs = disks?.log.vfs
        store = try LogStore.open(log)
        pool = StoragePool(writers: 1, readers: 1)
        let now: @Sendable () -> Timestamp = { Timestamp(Int64(Date().timeIntervalSince1970 * 1000)) }
        var configuration = StorageConfiguration(now: now)
        configuration.erased = RoomHost.erased
        configuration.isAmended = RoomHost.isAmended
        configuration.shownBytes = RoomHost.shownBytes
        configuration.quotedSeq = RoomHost.quotedSeq
        configuration.withoutQuote = RoomHost.withoutQuote
        configuration.visibleSince = RoomHost.visibleSince(standardDays: configuration.retentionDays)
        configuration.search = SearchConfiguration(text: RoomHost.searchedText)
        configuration.vfs = disks?.storage.vfs
        storage = try ShardStorage.open(
            ShardID(0), directory: directory + "/shard", pool: pool, configuration: configuration)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ServerID(node: id.text, store: store.storeID)
        if create { try await SystemGroup.bootstrap(shardCount: 1, server: server, store: store) }
        let router = OwnRooms()
        let shardMap = ShardMap(shardCount: 1)
        calls = await RoomCalls(node: id, loops: [loop], shardMap: shardMap, router: router)
        rooms = RoomHost(node: id, loops: [loop], shardMap: shardMap, storages: [storage], calls: calls)
        router.connect(rooms)
        told.notify(calls, of: id)
        link.connect(id, rooms)
        told.connect { [link, id] update, node in link.deliver(update, from: id, to: node) }
        var dependencies = RoomHost.Dependencies(
            store: store, server: server, sink: told, transport: link.end(of: id),
            replication: link.end(of: id), policy: policy, cluster: cluster, metrics: MetricsRegistry(),
            logger: logger, checkpointSeconds: 0, callbacks: CallbackSetup(client: callbacks), now: now)
        dependencies.entriesRetained = 5
        try await rooms.start(dependencies)
    }

    var record: NodeRecord { NodeRecord(node: id, store: store.storeID) }

    func close() async {
        link.connect(id, nil as RoomHost?)
        await rooms.stop()
        await calls.stop()
        storage.close()
        pool.close()
        store.close()
        await callbacks.shutdown()
        loop.shutdown()
        await loop.joined()
    }

    /// The oldest entry that the shard's log on disk has.
    func firstIndex() throws -> UInt64 { try store.restored(GroupID(0)).firstIndex }

    /// The term of an entry; nil if the shard's log on disk does not have it any more.
    func term(of index: UInt64) throws -> UInt64? {
        let log = try store.restored(GroupID(0))
        return index == log.trimmed.index ? log.trimmed.term : log.terms.term(at: index)
    }

    /// The shard as this node sees it.
    func status() async -> RoomHost.ShardStatus? { await rooms.shards().first }

    /// All that the shard has here, as replicas would be given it.
    func content() async throws -> (index: UInt64, catalogue: [UInt8], history: [Int64: [UInt8]]) {
        let reader = try await answer { storage.openSnapshot(completion: $0) }
        defer { reader.close() }
        var catalogue: [UInt8] = []
        while true {
            let bytes = try await answer { reader.next(bytesMax: 1 << 20, completion: $0) }
            if bytes.isEmpty { break }
            catalogue += bytes
        }
        var history: [Int64: [UInt8]] = [:]
        for day in try await answer({ storage.historyManifest(atLeast: 0, completion: $0) }).days.map(\.day) {
            var cursor: HistoryCursor?
            repeat {
                let chunk = try await answer {
                    storage.historyChunk(
                        day: day, after: cursor, changedAfter: 0, atLeast: 0, bytesMax: 1 << 20, completion: $0)
                }
                history[day, default: []] += chunk.bytes
                cursor = chunk.next
            } while cursor != nil
        }
        return (reader.index, catalogue, history)
    }

    func answer<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }.get()
    }
}

/// Several nodes in one process.
final class HostedCluster {
    let link = MemoryLink()
    private let directory: TemporaryDirectory
    private(set) var nodes: [HostedNode] = []
    private var directories: [String: String] = [:]
    private var disks: [String: HostedDisks] = [:]
    private let hasFaultDisks: Bool
    private let policy: RoomPolicy

    /// - Parameter hasFaultDisks: the nodes' databases are on disks that can be made to fail.
    init(hasFaultDisks: Bool = false, policy: RoomPolicy = RoomPolicy()) throws {
        directory = try TemporaryDirectory()
        self.hasFaultDisks = hasFaultDisks
        self.policy = policy
    }

    func disks(_ name: String) throws -> HostedDisks { try #require(disks[name]) }

    /// Adds a node with an empty disk; the first one makes the shard's group.
    func add(_ name: String) async throws {
        let path = directory.path + "/\(directories.count)-\(name)"
        let isFirst = directories.isEmpty
        directories[name] = path
        if hasFaultDisks { disks[name] = HostedDisks() }
        nodes.append(
            try await HostedNode(
                name, path, link, create: isFirst, isNew: true, disks: disks[name], policy: policy))
    }

    /// Starts a node again on its disk.
    func restart(_ name: String) async throws {
        let path = try #require(directories[name])
        nodes.append(
            try await HostedNode(
                name, path, link, create: false, isNew: false, disks: disks[name], policy: policy))
        announce()
    }

    /// The disk of a node's shard, while the node is stopped.
    func withStorage(_ name: String, _ body: (ShardStorage) async throws -> Void) async throws {
        let pool = StoragePool(writers: 1, readers: 1)
        defer { pool.close() }
        let now: @Sendable () -> Timestamp = { Timestamp(Int64(Date().timeIntervalSince1970 * 1000)) }
        let storage = try ShardStorage.open(
            ShardID(0), directory: try #require(directories[name]) + "/shard", pool: pool,
            configuration: StorageConfiguration(now: now))
        defer { storage.close() }
        try await body(storage)
    }

    /// The file of a node's catalogue, while the node is stopped.
    func catalogueFile(_ name: String) throws -> String {
        let shard = try #require(directories[name]) + "/shard"
        let names = try FileManager.default.contentsOfDirectory(atPath: shard)
        return shard + "/" + (try #require(names.first { $0.hasPrefix("catalogue") && $0.hasSuffix(".sqlite") }))
    }

    func node(_ name: String) throws -> HostedNode { try #require(nodes.first { $0.id.text == name }) }

    func stop(_ name: String) async throws {
        try await node(name).close()
        nodes.removeAll { $0.id.text == name }
    }

    /// Tells all nodes which there are.
    func announce() {
        for node in nodes { node.cluster.set(nodes.map(\.record)) }
    }

    /// Tells all nodes what the cluster's programs understand.
    func announce(_ level: FeatureLevel) {
        for node in nodes { node.cluster.set(level: level) }
    }

    func close() async {
        for node in nodes { await node.close() }
        nodes = []
    }

    /// Runs a command at the shard's leader.
    @discardableResult
    func perform(_ body: CommandBody, in room: RoomID, but away: NodeID? = nil) async throws -> CommandResult {
        try await lead(but: away) { node throws(ChatError) in
            try await node.calls.perform(body, in: room, as: .system, id: nil)
        }
    }

    /// Asks the shard's leader, whichever node that is.
    /// - Parameter away: a node that may believe that it leads.
    func lead<Value>(
        but away: NodeID? = nil, _ ask: (HostedNode) async throws(ChatError) -> Value
    ) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            for node in nodes where node.id != away {
                guard await node.status()?.leader == node.id else { continue }
                do throws(ChatError) {
                    return try await ask(node)
                } catch {
                    guard error.code == .unavailable, ContinuousClock.now < deadline else { throw error }
                }
            }
            guard ContinuousClock.now < deadline else { throw ChatError(.unavailable, "nobody leads the shard") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until all nodes are voters and nobody else is, and all of them have everything.
    func settled() async throws {
        let servers = Set(nodes.map { ServerID(node: $0.id.text, store: $0.store.storeID) })
        try await poll("\(servers) hold the shard") {
            var applied: Set<UInt64> = []
            for node in self.nodes {
                guard let status = await node.status(), Set(status.voters) == servers,
                    node.storage.isHistoryComplete
                else { return false }
                applied.insert(status.applied)
            }
            return applied.count == 1
        }
    }

    /// Expects that all nodes hold the same, row by row, as soon as they hold it as of the same entry.
    func expectEqual(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        var contents: [(index: UInt64, catalogue: [UInt8], history: [Int64: [UInt8]])] = []
        try await poll("all nodes have applied the same") {
            contents = []
            for node in self.nodes { contents.append(try await node.content()) }
            // Also what was applied while the history was read.
            let applied = self.nodes.map(\.storage.appliedIndex)
            return Set(contents.map(\.index) + applied).count == 1
        }
        for content in contents {
            #expect(content.index > 0, sourceLocation: sourceLocation)
            #expect(content.catalogue == contents[0].catalogue, sourceLocation: sourceLocation)
            #expect(content.history == contents[0].history, sourceLocation: sourceLocation)
        }
    }
}
