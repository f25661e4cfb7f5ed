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
    private let loop: EventLoop
    private let store: LogStore
    private let server: ServerID
    private let transport: any ConsensusTransport
    private let cluster: ClusterView
    private let replication: any ReplicationTransport
    private let forward: Forward
    private let path: String
    private let parts: LoopBound<Parts?>
    private let shared: Mutex<SharedSystemState?>
    private let files: Mutex<[StateFile]>
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let refusedTerms: Counter?
    /// The highest level that this program can do.
    public let ownLevel: FeatureLevel
    private let stop: @Sendable (UnknownContent) -> Void

    private struct Parts {
        var driver: LogDriver
        var log: GroupLog
        var host: SystemHost
        var replica: ReplicaDriver
    }

    /// Takes a command to another node and returns what it has brought, and the index at which it was applied.
    public typealias Forward =
        @Sendable (SystemCommand, _ key: String?, NodeID) async throws(ChatError) -> (SystemResult, index: UInt64)

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
    /// cluster's level is one that this program can't do.
    public func start() async throws {
        let (file, bytes) = try StateFile.open(path: path)
        let (markFile, mark) = try StateFile.open(path: path + "-mark")
        files.withLock { $0 = [markFile, file] }
        let installed = try mark.map { bytes throws(ReplicationError) in try SnapshotMark(decoding: bytes) }
        let snapshot = try bytes.map { bytes throws(WireError) in try SystemCodec.decodeSnapshot(bytes) }
        if let level = snapshot?.level, level > ownLevel { throw UnknownContent(level: level, own: ownLevel) }
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
            let ready = system.log.peerStatuses.filter { $0.isVoter && $0.isActive && $0.isCaughtUp }
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

    private func whenSettled<Value: Sendable>(_ body: @escaping @Sendable (Parts) -> Value?) async -> Value {
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

    // MARK: - Reading

    private var current: SharedSystemState {
        guard let state = shared.withLock({ $0 }) else {
            preconditionFailure("the system group has not been started")
        }
        return state
    }

    /// The nodes that the cluster consists of.
    public var nodes: [NodeRecord] { current.value.withLock { $0.nodes } }

    /// The cluster's feature level, as far as this node has heard.
    public var level: FeatureLevel { current.value.withLock { $0.level } }

    /// Nodes that were removed from the cluster, and are not heard any more.
    public var refusedNodes: RefusedNodes { current.value.withLock { $0.refusedNodes } }

    /// All settings that are in force.
    public var settings: [SettingName: Setting] { current.value.withLock { $0.settings } }

    /// One setting; nil when it was never put, or was removed.
    public func setting(_ name: SettingName) -> Setting? { current.value.withLock { $0.settings[name] } }

    /// Whether a token of the user is refused because of a revocation. `issuedAt` nil: the token has no `iat`.
    public func refuses(_ user: UserID, issuedAt: Timestamp?) -> Bool {
        current.value.withLock { $0.revocations.refuses(user, issuedAt: issuedAt) }
    }

    /// The ban or the mute of a user in all rooms that is in force now.
    public func sanction(_ kind: SanctionKind, of user: UserID) -> UserSanction? {
        let now = now()
        return current.value.withLock { $0.sanctions.sanction(kind, of: user, at: now) }
    }

    /// All that are in force, in the order of their users. It takes a while with many.
    public func sanctions(
        _ kind: SanctionKind, after: UserID?, limit: Int
    ) -> Page<(user: UserID, sanction: UserSanction), UserID> {
        let (now, sanctions) = (now(), current.value.withLock { $0.sanctions })
        return sanctions.page(kind, after: after, limit: limit, at: now)
    }

    /// The sanctions of which the app's webhook is not told yet, and how many older ones it will not hear of.
    public var owedSanctions: (events: [SanctionEvent], forgotten: Int64) {
        current.value.withLock { ($0.owedSanctions, $0.forgottenSanctions) }
    }

    /// The `iat` for a token that is issued now: later than any revocation of the user.
    public func issueTime(for user: UserID) -> Timestamp {
        let now = now()
        return current.value.withLock { $0.revocations.issueTime(for: user, at: now) }
    }

    /// The status of the group, for operators.
    public struct Status: Sendable {
        public var term: UInt64
        public var leader: NodeID?
        public var replicas: [NodeID]
        public var applied: UInt64
    }

    public func status() async -> Status {
        let (loop, parts) = (loop, parts)
        return await loop.run {
            guard let log = parts.value?.log else { preconditionFailure("the system group has not been started") }
            return Status(
                term: log.term, leader: log.leader.flatMap { NodeID($0.node) },
                replicas: log.membership.voters.compactMap { NodeID($0.node) }, applied: log.appliedIndex)
        }
    }

    /// Calls `observer` on the group's loop: at once for the level, the nodes and each setting that there is, then for
    /// every change in the order of the log, before whoever made it gets its answer. It must not block; it hands over to
    /// its own loop or thread.
    public func observe(_ observer: @escaping @Sendable (SystemChange) -> Void) async {
        let (loop, parts) = (loop, parts)
        await loop.run {
            guard let system = parts.value else { preconditionFailure("the system group has not been started") }
            system.host.observe(observer)
        }
    }

    // MARK: - Changing

    /// Refuses every token of the user that was issued until now.
    /// - Parameter key: the caller's idempotency key; a repeat gets the first time and changes nothing.
    /// - Returns: the time; tokens issued then or before are refused.
    public func revoke(_ user: UserID, key: String? = nil) async throws(ChatError) -> Timestamp {
        guard case .revoked(let time) = try await propose(.revoke(user), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
        return time
    }

    /// Bans or mutes a user in all rooms: for so many seconds, for good (nil), or no more (0).
    /// - Parameters:
    ///   - owes: the app has a webhook, which is to be told.
    ///   - key: as in `revoke`.
    /// - Throws: 409 when as many are banned or muted as there may be; 503 UPGRADING.
    public func sanction(
        _ user: UserID, _ kind: SanctionKind, seconds: Int64?, reason: String?, owes: Bool, key: String? = nil
    ) async throws(ChatError) {
        let command = SystemCommand.sanction(user, kind, seconds: seconds, reason: reason, owes: owes)
        guard case .done = try await propose(command, key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// The webhook has been told of the sanctions up to that log index.
    public func sanctionsTold(through index: UInt64) async throws(ChatError) {
        _ = try await propose(.sanctionsTold(through: index), key: nil)
    }

    /// Puts a setting, of at most `SystemState.settingBytesMax` bytes, or removes it (nil).
    /// - Parameter key: as in `revoke`.
    public func put(_ value: [UInt8]?, for name: SettingName, key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(.put(setting: name, value: value), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// Changes which nodes the cluster consists of.
    /// - Parameter key: as in `revoke`.
    /// - Throws: 404 for a node that there is not, 409 for the last node that holds rooms or too many nodes, 413.
    public func changeNodes(_ change: NodeChange, key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(change.command, key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// Raises the cluster's feature level; where it is that already, nothing changes.
    /// - Parameters:
    ///   - stores: of the nodes that have said that they can do it.
    ///   - key: as in `revoke`.
    /// - Throws: 409 when other nodes are listed meanwhile.
    public func raise(to level: FeatureLevel, stores: [UInt64], key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(.raiseLevel(level, stores: stores), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// A change of the list of nodes.
    public enum NodeChange: Sendable, Hashable {
        case add(NodeRecord)
        /// - Parameter certificate: as in `SystemCommand.removeNode`.
        case remove(NodeID, certificate: [UInt8]?)
        case readmit(NodeID)
        case setDraining(NodeID, Bool)

        var command: SystemCommand {
            switch self {
            case .add(let record): .addNode(record)
            case .remove(let node, let certificate): .removeNode(node, certificate: certificate)
            case .readmit(let node): .readmitNode(node)
            case .setDraining(let node, let isDraining): .setDraining(node, isDraining)
            }
        }
    }

    /// Claims an idempotency key for a call whose work isn't in the log.
    /// - Returns: `.done` when the call may go on; for a repeat `.answered`, or `.begun` while nobody knows how the
    ///   first one ends.
    public func begin(_ key: String) async throws(ChatError) -> SystemResult { try await propose(.begin, key: key) }

    /// Keeps the answer of a call that has claimed its key; nil gives the key back, because nothing was done.
    public func finish(_ key: String, answer: [UInt8]?) async throws(ChatError) {
        _ = try await propose(.finish(answer: answer), key: key)
    }

    /// Uses a nonce: false when it was used within the last ten minutes, on whichever node.
    public func use(nonce: String) async throws(ChatError) -> Bool {
        if case .done = try await propose(.nonce, key: nonce) { true } else { false }
    }

    /// Proposes a command where the leader is, and returns when it is applied there and, unless this node is cut off,
    /// here.
    private func propose(_ command: SystemCommand, key: String? = nil) async throws(ChatError) -> SystemResult {
        let deadline = ContinuousClock.now + Self.leaderless
        while true {
            let (outcome, leadership) = await proposeHere(command, key: key)
            switch outcome {
            case .success(let applied): return applied.result
            case .failure(.failed(let error)): throw error
            case .failure(.notLeader): break
            }
            if let leader = leadership.leader.flatMap({ NodeID($0) }), leader.text != server.node {
                do throws(ChatError) {
                    let (result, index) = try await forward(command, key, leader)
                    await whenApplied(index)
                    return result
                } catch {
                    // Refused there without effect: it does not lead either.
                    guard error.code == .unavailable, error.field == ChatError.leaderField else { throw error }
                }
            }
            guard await change(of: leadership, until: deadline) else {
                throw ChatError(.unavailable, "the system group has no leader at the moment", retryAfterMs: 500)
            }
        }
    }

    /// A command that another node has passed on. Throws 503 with the field `leader` where this node does not lead.
    ///
    /// A leader that can't propose yet waits for that or for its end, since the other node hears of neither before there
    /// is another leader.
    public func performForwarded(_ command: SystemCommand, key: String?) async throws(ChatError) -> (
        SystemResult, index: UInt64
    ) {
        let deadline = ContinuousClock.now + Self.leaderless
        while true {
            let (outcome, leadership) = await proposeHere(command, key: key)
            switch outcome {
            case .success(let applied): return (applied.result, applied.index)
            case .failure(.failed(let error)): throw error
            case .failure(.notLeader): break
            }
            let isHere = leadership.leader == server.node
            guard isHere, await change(of: leadership, until: deadline) else {
                throw ChatError(
                    .unavailable, "this node does not lead the system group", retryAfterMs: 500,
                    field: ChatError.leaderField)
            }
        }
    }

    /// Waits until there is another leader than formerly, or this node can propose that could not.
    /// - Returns: false when that has not come about by the deadline.
    private func change(of former: SystemLeadership, until deadline: ContinuousClock.Instant) async -> Bool {
        await whenSettled { system in
            if system.host.leadership(of: system.log).isWorthAnotherTry(after: former) { return true }
            return ContinuousClock.now >= deadline ? false : nil
        }
    }

    /// How long a change waits for a leader.
    private static let leaderless = Duration.seconds(2)

    /// - Returns: the outcome, and the leadership before the attempt.
    private func proposeHere(_ command: SystemCommand, key: String?) async -> (
        Result<SystemHost.Applied, SystemHost.Failure>, SystemLeadership
    ) {
        let (loop, parts) = (loop, parts)
        return await withCheckedContinuation { continuation in
            loop.execute {
                guard let system = parts.value else {
                    let error = ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
                    return continuation.resume(returning: (.failure(.failed(error)), SystemLeadership(term: 0)))
                }
                let leadership = system.host.leadership(of: system.log)
                system.host.propose(command, key: key, to: system.log) {
                    continuation.resume(returning: ($0, leadership))
                }
            }
        }
    }

    /// Returns when this node has applied the log up to there, or after a while all the same.
    private func whenApplied(_ index: UInt64) async {
        let deadline = ContinuousClock.now + Self.leaderless
        let _: Bool = await whenSettled { system in
            system.log.appliedIndex >= index || ContinuousClock.now >= deadline ? true : nil
        }
    }
}

extension ChatError {
    /// The field of an error that only says that another node leads.
    fileprivate static let leaderField = "leader"
}
