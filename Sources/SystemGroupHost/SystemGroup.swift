import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import LogStore
import Logging
import Replication
import ReplicationDriver
import Synchronization
import Telemetry
import Wire

/// The system group of a node: a replicated log of what belongs to no room, and its state, on one loop.
///
/// Reading is a look into the applied state, from any thread, without waiting. Changing goes through the log and
/// returns when the change is applied, here, and all observers have been told.
public final class SystemGroup: Sendable {
    let loop: EventLoop
    private let store: LogStore
    let server: ServerID
    private let transport: any ConsensusTransport
    private let cluster: ClusterView
    private let replication: any ReplicationTransport
    let forward: Forward
    private let path: String
    let parts: LoopBound<Parts?>
    let shared: Mutex<SharedSystemState?>
    private let files: Mutex<[StateFile]>
    private let logger: Logger
    let now: @Sendable () -> Timestamp
    private let refusedTerms: Counter?
    /// The highest level that this program can do.
    public let ownLevel: FeatureLevel
    private let stop: @Sendable (UnknownContent) -> Void

    struct Parts {
        var driver: LogDriver
        var log: GroupLog
        var host: SystemHost
        var replica: ReplicaDriver
    }

    /// Takes a command to another node and returns what has become of it, within a bounded time.
    public typealias Forward = @Sendable (SystemCommand, _ key: String?, NodeID) async -> ForwardOutcome

    /// - Parameters:
    ///   - directory: where the state is kept beside the log; made if it is missing.
    ///   - refusedTerms: counts messages that name terms which no election leads to.
    ///   - ownLevel: the highest feature level that this program can do.
    ///   - stop: ends the node, because the group has content that this program does not understand.
    ///   - forward: takes commands to the group's leader where that is another node.
    public init(
        loop: EventLoop, store: LogStore, server: ServerID, transport: any ConsensusTransport,
        replication: any ReplicationTransport = NoReplication(), cluster: ClusterView, directory: String,
        logger: Logger, refusedTerms: Counter? = nil, ownLevel: FeatureLevel = .newest,
        now: @escaping @Sendable () -> Timestamp,
        stop: @escaping @Sendable (UnknownContent) -> Void = { _ in }, forward: @escaping Forward
    ) {
        self.ownLevel = ownLevel
        self.stop = stop
        self.refusedTerms = refusedTerms
        self.replication = replication
        self.transport = transport
        self.cluster = cluster
        self.forward = forward
        self.loop = loop
        self.store = store
        self.server = server
        self.logger = logger
        self.now = now
        path = Self.statePath(in: directory)
        parts = LoopBound(nil, loop: loop)
        shared = Mutex(nil)
        files = Mutex([])
    }

    /// Opens state and log. Throws `StorageError` when the state can't be read, and `RaftError` when the log
    /// contradicts itself or the state is older than what was trimmed from the log, and `UnknownContent` when the
    /// state has what this program does not know, or a level that it can't do.
    public func start() async throws {
        let (file, bytes) = try StateFile.open(path: path)
        let (markFile, mark) = try StateFile.open(path: path + "-mark")
        files.withLock { $0 = [markFile, file] }
        let installed = try mark.map { bytes throws(ReplicationError) in try SnapshotMark(decoding: bytes) }
        let snapshot = try bytes.map { try Self.snapshot(of: $0, own: self.ownLevel) }
        let state = SharedSystemState(snapshot.map { SystemState(restoring: $0) } ?? SystemState())
        shared.withLock { $0 = state }
        let appliedIndex = snapshot?.appliedIndex ?? 0
        let (loop, store, server, parts, logger, now, path) = (loop, store, server, parts, logger, now, path)
        let (transport, cluster, replication, refusedTerms) = (transport, cluster, replication, refusedTerms)
        let (ownLevel, stop) = (ownLevel, stop)
        try await loop.run { () throws -> Void in
            let log = try GroupLog(
                group: .system, server: server, store: store, loop: loop, appliedIndex: appliedIndex,
                // It means nothing for a state that was not put in place after all.
                installed: installed.flatMap { $0.index == appliedIndex ? $0 : nil }, refusedTerms: refusedTerms)
            guard log.appliedIndex == appliedIndex else {
                throw RaftError(.corruptLog, "\(path) is missing, or older than the log")
            }
            let host = SystemHost(
                state: state, file: file, markFile: markFile, loop: loop, logger: logger, ownLevel: ownLevel, now: now,
                stop: stop)
            log.delegate = host
            let driver = LogDriver(loop: loop, store: store, transport: transport, logger: logger)
            driver.add(log)
            let replica = ReplicaDriver(
                log: log, server: server, state: SystemReplica(host: host, log: log, loop: loop), history: nil,
                loop: loop, transport: replication, configuration: TransferConfiguration(), slots: TransferSlots(),
                reports: ReplicaDriver.Reports(isComplete: { _, _ in }, isGiven: { _ in }))
            host.replica = replica
            parts.value = Parts(driver: driver, log: log, host: host, replica: replica)
            loop.every(milliseconds: 100) {
                replica.tick()
                // Some wait for a time only.
                host.settle()
            }
            loop.every(milliseconds: 1000) {
                host.tick(log, own: server, cluster)
                driver.pump()
            }
            driver.pump()
        }
    }

    /// Finishes writing. Blocks until then; call it before the log is closed.
    public func close() {
        for file in files.withLock({ $0 }) { file.close() }
    }

    static func statePath(in directory: String) -> String { directory + "/state" }

    /// Makes the groups of a new cluster, with this node as their only voter. Returns when they are on disk.
    public static func bootstrap(shardCount: UInt16, server: ServerID, store: LogStore) async throws {
        try await bootstrap(
            shards: Array(repeating: 0, count: Int(shardCount)), system: 0, server: server, store: store)
    }

    /// The same with the index of the entry up to which the state goes that each group begins with; 0: there is none.
    static func bootstrap(shards: [UInt64], system: UInt64, server: ServerID, store: LogStore) async throws {
        let groups = zip(0..<UInt16.max, shards).map { (GroupID($0), $1) } + [(.system, system)]
        let saves = try groups.compactMap { try GroupLog.bootstrap($0, server, after: $1) }
        let result: Result<Void, LogStoreError> = await withCheckedContinuation { continuation in
            store.save(saves) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Writes the entry that creates the cluster and waits until it is on disk.
    public func create(_ identity: ClusterIdentity, node: NodeID) async throws {
        _ = await whenSettled { $0.log.isEstablished ? true : nil }
        _ = try await propose(
            .createCluster(
                id: identity.id, shardCount: identity.shardCount, node: node, store: server.store, level: ownLevel))
    }

    // MARK: - Between nodes

    /// Consensus messages of other nodes for this group.
    public func receive(_ messages: [RaftMessage]) {
        let parts = parts
        loop.execute { parts.value?.driver.receive(messages) }
    }

    /// Hands the group's leadership to another node, if there is one that can take it over.
    /// - Parameter isStopping: whether it is not to come back to this node.
    public func transferLeadership(isStopping: Bool = false) async {
        let (loop, parts) = (loop, parts)
        await loop.run {
            guard let system = parts.value else { return }
            if isStopping { system.log.beginStopping() }
            guard system.log.isEstablished else { return }
            let ready = system.log.peerStatuses.filter {
                $0.isVoter && $0.isActive && $0.isCaughtUp && !$0.declinesLeadership
            }
            guard let heir = ready.max(by: { $0.matchIndex < $1.matchIndex }) else { return }
            try? system.log.transferLeadership(to: heir.id)
            system.driver.pump()
        }
    }

    /// Takes a message of another node's replica of this group.
    public func receive(replication message: ReplicationMessage, from node: NodeID) {
        let parts = parts
        loop.execute { parts.value?.replica.receive(message, from: node) }
    }

    /// A node is connected that was not before: it may have begun anew.
    public func reached(_ node: NodeID) {
        let parts = parts
        loop.execute {
            parts.value?.driver.reached(node)
            parts.value?.replica.reached(node)
        }
    }

    /// The connection to a node has ended.
    public func onNodeLost(_ node: NodeID) {
        let parts = parts
        loop.execute {
            parts.value?.driver.onNodeLost(node)
            parts.value?.replica.onNodeLost(node)
        }
    }

    /// Returns when this node hears a leader and has applied all that it knows to be committed; false when that has not
    /// come about in time.
    public func settled(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        return await whenSettled { system in
            let log = system.log
            if log.leader != nil, log.isEstablished || !log.isLeader, log.appliedIndex >= log.commitIndex {
                return true
            }
            return ContinuousClock.now >= deadline ? false : nil
        }
    }

    /// Whether there is a leader that this node hears, or that it is itself.
    public func hearsLeader() async -> Bool {
        let parts = parts
        return await loop.run { parts.value?.log.leader != nil }
    }

    /// The state as of now, with all that was acked; nil where this node does not lead the group.
    public func copy() async -> SystemSnapshot? {
        let (loop, parts) = (loop, parts)
        let present: (state: SystemState, index: UInt64)? = await loop.run {
            guard let system = parts.value, system.log.isEstablished else { return nil }
            return (system.host.present, system.log.appliedIndex)
        }
        // Encoding a large state takes too long for a loop.
        return await Task.detached { present.map { $0.state.snapshot(appliedIndex: $0.index) } }.value
    }

    func whenSettled<Value: Sendable>(_ body: @escaping @Sendable (Parts) -> Value?) async -> Value {
        let (loop, parts) = (loop, parts)
        return await withCheckedContinuation { continuation in
            loop.execute {
                guard let system = parts.value else { preconditionFailure("the system group has not been started") }
                system.host.wait {
                    guard let value = body(system) else { return false }
                    continuation.resume(returning: value)
                    return true
                }
            }
        }
    }
}
