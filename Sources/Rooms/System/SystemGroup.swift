import ChatModel
import Consensus
import EventLoop
import History
import LogStore
import Logging
import Synchronization
import Wire

/// The system group of a node: a replicated log of what belongs to no room, and its state, on one loop.
///
/// Reading is a look into the applied state, from any thread, without waiting. Changing goes through the log and
/// returns when the change is applied, here, and all observers have been told.
public final class SystemGroup: Sendable {
    private let loop: EventLoop
    private let store: LogStore
    private let server: ServerID
    private let path: String
    private let parts: LoopBound<Parts?>
    private let shared: Mutex<SharedSystemState?>
    private let file: Mutex<StateFile?>
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    private struct Parts {
        var driver: LogDriver
        var log: GroupLog
        var host: SystemHost
    }

    /// - Parameter directory: where the state is kept beside the log; made if it is missing.
    public init(
        loop: EventLoop, store: LogStore, server: ServerID, directory: String, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.loop = loop
        self.store = store
        self.server = server
        self.logger = logger
        self.now = now
        path = directory + "/state"
        parts = LoopBound(nil, loop: loop)
        shared = Mutex(nil)
        file = Mutex(nil)
    }

    /// Opens state and log. Throws `StorageError` when the state can't be read, and `RaftError` when the log contradicts
    /// itself or the state is older than what was trimmed from the log.
    public func start() async throws {
        let (file, bytes) = try StateFile.open(path: path)
        self.file.withLock { $0 = file }
        let snapshot = try bytes.map { bytes throws(WireError) in try SystemCodec.decodeSnapshot(bytes) }
        let state = SharedSystemState(snapshot.map { SystemState(restoring: $0) } ?? SystemState())
        shared.withLock { $0 = state }
        let appliedIndex = snapshot?.appliedIndex ?? 0
        let (loop, store, server, parts, logger, now, path) = (loop, store, server, parts, logger, now, path)
        try await loop.run { () throws -> Void in
            let log = try GroupLog(
                group: .system, server: server, store: store, loop: loop, appliedIndex: appliedIndex)
            guard log.appliedIndex == appliedIndex else {
                throw RaftError(.corruptLog, "\(path) is missing, or older than the log")
            }
            if let owner = log.membership.voters.first, !log.membership.voters.contains(server) {
                throw RaftError(.unknownServer, "the data is of node \(owner.node), and this is node \(server.node)")
            }
            let host = SystemHost(state: state, file: file, loop: loop, logger: logger, now: now)
            log.delegate = host
            let driver = LogDriver(loop: loop, store: store, logger: logger)
            driver.add(log)
            parts.value = Parts(driver: driver, log: log, host: host)
            driver.pump()
        }
    }

    /// Finishes writing. Blocks until then; call it before the log is closed.
    public func close() { file.withLock { $0 }?.close() }

    /// Which cluster this is, as soon as everything that the log held at start is applied.
    public func identity() async throws -> ClusterIdentity {
        let state = current
        return await whenSettled { system in
            guard system.log.isEstablished, system.log.appliedIndex >= system.log.commitIndex else { return nil }
            return state.value.withLock { $0.cluster }
        }
    }

    /// Writes the entry that creates the cluster and waits until it is on disk.
    public func create(_ identity: ClusterIdentity, node: NodeID) async throws {
        _ = await whenSettled { $0.log.isEstablished ? true : nil }
        _ = try await propose(
            .createCluster(id: identity.id, shardCount: identity.shardCount, node: node, store: server.store))
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
    public var nodes: [SystemState.Node] { current.value.withLock { $0.nodes } }

    /// All settings that are in force.
    public var settings: [SettingName: Setting] { current.value.withLock { $0.settings } }

    /// One setting; nil when it was never put, or was removed.
    public func setting(_ name: SettingName) -> Setting? { current.value.withLock { $0.settings[name] } }

    /// Whether a token of the user is refused because of a revocation. `issuedAt` nil: the token has no `iat`.
    public func refuses(_ user: UserID, issuedAt: Timestamp?) -> Bool {
        current.value.withLock { $0.revocations.refuses(user, issuedAt: issuedAt) }
    }

    /// The `iat` for a token that is issued now: later than any revocation of the user.
    public func issueTime(for user: UserID) -> Timestamp {
        let now = now()
        return current.value.withLock { $0.revocations.issueTime(for: user, at: now) }
    }

    /// What of the group is worth showing.
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

    /// Calls `observer` on the group's loop: at once for each setting that there is, then for every change in the order
    /// of the log, before whoever made it gets its answer. It must not block; it hands over to its own loop or thread.
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

    /// Puts a setting, of at most `SystemState.settingBytesMax` bytes, or removes it (nil).
    /// - Parameter key: as in `revoke`.
    public func put(_ value: [UInt8]?, for name: SettingName, key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(.put(setting: name, value: value), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// Claims an idempotency key for a call whose work isn't in the log.
    /// - Returns: `.done` when the call may go on; for a repeat `.answered`, or `.begun` while nobody knows how the first
    ///   one ends.
    public func begin(_ key: String) async throws(ChatError) -> SystemResult { try await propose(.begin, key: key) }

    /// Keeps the answer of a call that has claimed its key; nil gives the key back, because nothing was done.
    public func finish(_ key: String, answer: [UInt8]?) async throws(ChatError) {
        _ = try await propose(.finish(answer: answer), key: key)
    }

    /// Uses a nonce: false when it was used within the last ten minutes, on whichever node.
    public func use(nonce: String) async throws(ChatError) -> Bool {
        if case .done = try await propose(.nonce, key: nonce) { true } else { false }
    }

    private func propose(_ command: SystemCommand, key: String? = nil) async throws(ChatError) -> SystemResult {
        let (loop, parts) = (loop, parts)
        let result: Result<SystemResult, ChatError> = await withCheckedContinuation { continuation in
            loop.execute {
                guard let system = parts.value else {
                    return continuation.resume(
                        returning: .failure(ChatError(.unavailable, "the node is starting", retryAfterMs: 500)))
                }
                system.host.propose(command, key: key, to: system.log) { continuation.resume(returning: $0) }
            }
        }
        return try result.get()
    }
}
