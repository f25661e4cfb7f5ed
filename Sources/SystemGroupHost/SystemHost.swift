import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import Logging
import Replication
import ReplicationDriver
import SQLite
import Synchronization
import Wire

/// The system group on its loop: applies its log, answers whoever proposed, tells those who observe, and keeps the log
/// short by putting the whole state on disk now and then.
final class SystemHost: GroupLogDelegate {
    typealias Completion = (Result<Applied, Failure>) -> Void

    /// The result of a command, and its place in the log.
    struct Applied {
        var result: SystemResult
        var index: UInt64
    }

    enum Failure: Error {
        /// Nothing was done and nothing will be, so it may be proposed anew.
        case notLeader
        case failed(ChatError)
    }

    /// Written here only; read from anywhere.
    private let state: SharedSystemState
    private let file: StateFile
    /// The mark of the state that is put into `file` next: written before it, so that the log can be told of a state
    /// that it has no entries of, if the process ends before it was.
    private let markFile: StateFile
    private let loop: EventLoop
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    /// The highest level that this program can do.
    private let ownLevel: FeatureLevel
    /// Ends the node, which applies nothing any more.
    private let stop: @Sendable (UnknownContent) -> Void
    private var isStopped = false
    private var waiting: [() -> Bool] = []
    /// By index.
    private var pending: [UInt64: Pending] = [:]
    /// The earliest deadline in `pending`, or an earlier time.
    private var overdueAt: ContinuousClock.Instant?
    /// The term of the newest committed entry.
    private var committedTerm: UInt64 = 0
    private var ledTerm: UInt64?
    private var keeper = GroupKeeper()
    /// Gives and takes the whole state; set once, before the log is driven.
    var replica: ReplicaDriver?
    private var observers: [@Sendable (SystemChange) -> Void] = []
    private var isCheckpointing = false
    private var entriesSinceCheckpoint = 0
    private var bytesSinceCheckpoint = 0
    private var lastStamp: Timestamp

    /// A proposal of this node. When it leads no more, whether the entry has been committed is told by what is
    /// committed in its place or behind it, so the proposal waits for that: nothing fails that was done, and nothing is
    /// done twice.
    private struct Pending {
        /// In which it was proposed: an entry of another term at its index is another entry.
        var term: UInt64
        var completion: Completion
        /// Until when it waits; nil while this node leads.
        var deadline: ContinuousClock.Instant?
    }

    /// How long a proposal waits for the word of the next leader.
    private static let undecidedMax = Duration.seconds(2)
    /// Proposals that may be under way; a further one is refused with 503.
    private static let pendingMax = 10_000
    /// After so much of the log the state is put on disk and the log before it goes.
    private static let checkpointEntries = 256
    private static let checkpointBytes = 4 << 20

    init(
        state: SharedSystemState, file: StateFile, markFile: StateFile, loop: EventLoop, logger: Logger,
        ownLevel: FeatureLevel, now: @escaping @Sendable () -> Timestamp,
        stop: @escaping @Sendable (UnknownContent) -> Void
    ) {
        self.ownLevel = ownLevel
        self.stop = stop
        self.state = state
        self.file = file
        self.markFile = markFile
        self.loop = loop
        self.logger = logger
        self.now = now
        lastStamp = state.value.withLock { $0.time }
    }

    // MARK: - Proposing

    func leadership(of log: GroupLog) -> SystemLeadership {
        SystemLeadership(
            term: log.term, leader: log.leader?.node,
            takesProposals: log.isEstablished && !log.isTransferring && (log.isSoleVoter || log.takesWrites))
    }

    /// Proposes a command. The completion is called once, on the loop: when it is applied, when it is certain that it
    /// never will be, or when nobody has said so for a while.
    func propose(_ command: SystemCommand, key: String?, to log: GroupLog, _ completion: @escaping Completion) {
        guard !isStopped else { return completion(.failure(.failed(Self.unavailable("the node is stopping")))) }
        guard log.isEstablished else { return completion(.failure(.notLeader)) }
        // It is about to leave leading to a replica whose disk takes something.
        guard log.isSoleVoter || log.takesWrites else { return completion(.failure(.notLeader)) }
        guard pending.count < Self.pendingMax else {
            return completion(.failure(.failed(Self.unavailable("too many changes are under way"))))
        }
        if let feature = command.feature, !present.level.brings(feature) {
            return completion(.failure(.failed(.upgrading(feature))))
        }
        // No matter which node asks: nothing brings a cluster back from a level that nobody can do.
        if case .raiseLevel(let level, _) = command, level > ownLevel {
            let reason = "this program can't do feature level \(level)"
            return completion(.failure(.failed(ChatError(.conflict, reason, field: "level"))))
        }
        let time = max(now(), lastStamp)
        do throws(RaftError) {
            let entry = SystemEntry(time: time, key: key, command: command)
            let range = try log.propose([SystemCodec.encode(entry)])
            lastStamp = time
            fail([pending.removeValue(forKey: range.lowerBound)].compactMap { $0 })
            pending[range.lowerBound] = Pending(term: log.term, completion: completion)
            log.onInput()
        } catch {
            let isElsewhere = (error.code == .notLeader || error.code == .transferring) && !log.isSoleVoter
            completion(
                .failure(
                    isElsewhere
                        ? .notLeader : .failed(Self.unavailable("the system group's log takes nothing now"))))
        }
    }

    private static func unavailable(_ reason: String) -> ChatError {
        ChatError(.unavailable, reason, retryAfterMs: 500)
    }

    func logDidChangeLeadership(_ log: GroupLog) {
        if !log.isEstablished || log.term != ledTerm {
            let deadline = ContinuousClock.now + Self.undecidedMax
            for index in pending.keys where pending[index]?.deadline == nil { pending[index]?.deadline = deadline }
            if !pending.isEmpty { overdueAt = overdueAt ?? deadline }
            // Nobody else could say what has become of it.
            if log.isSoleVoter { failPending() }
        }
        ledTerm = log.isEstablished ? log.term : nil
        settle()
    }

    func log(_ log: GroupLog, needsSnapshot offer: RaftOutput.SnapshotOffer) {
        guard let replica else { return log.snapshotInstallFailed(offer.mark) }
        replica.take(offer)
    }

    // MARK: - Another replica's state

    /// The state as of what is applied.
    var present: SystemState { state.value.withLock { $0 } }

    /// Puts another replica's state in the place of this one's, on disk first, and tells those who observe what is
    /// different.
    func replace(
        with bytes: [UInt8], as mark: SnapshotMark, _ done: @escaping (Result<Void, ReplicationError>) -> Void
    ) {
        let snapshot: SystemSnapshot
        do {
            snapshot = try SystemGroup.snapshot(of: bytes, own: ownLevel)
        } catch let reason as UnknownContent {
            halt(reason)
            return done(.failure(ReplicationError(.receiver, "this program does not understand it")))
        } catch {
            return done(.failure(ReplicationError(.malformed, "no state of the system group: \(error)")))
        }
        guard snapshot.appliedIndex == mark.index else {
            let error = "a system state as of \(snapshot.appliedIndex) came for \(mark.index)"
            return done(.failure(ReplicationError(.malformed, error)))
        }
        let me = LoopBound(onLoop: (self, done), loop: loop)
        let (file, markBytes) = (file, mark.encoded)
        let replaced: @Sendable (Result<Void, SQLiteError>) -> Void = { result in
            me.loop.execute {
                let (host, done) = me.value
                switch result {
                case .success:
                    host.become(SystemState(restoring: snapshot))
                    done(.success(()))
                case .failure(let error): done(.failure(ReplicationError(.receiver, error.message)))
                }
            }
        }
        markFile.replace({ markBytes }) { result in
            guard case .success = result else { return replaced(result) }
            file.replace({ bytes }, completion: replaced)
        }
    }

    private func become(_ new: SystemState) {
        // Which entries have led to it is not known.
        failPending()
        let old = state.value.withLock { state in
            defer { state = new }
            return state
        }
        lastStamp = max(lastStamp, new.time)
        entriesSinceCheckpoint = 0
        bytesSinceCheckpoint = 0
        for change in new.changes(since: old) {
            for observer in observers { observer(change) }
        }
    }

    // MARK: - Applying

    func log(_ log: GroupLog, didCommit entries: [Entry]) {
        for entry in entries {
            guard !isStopped else { return }
            let completion = decide(entry)
            guard entry.kind != .command || apply(entry, completion) else {
                completion?(.failure(.failed(Self.unavailable("the node is stopping"))))
                return
            }
            log.applied(upTo: entry.index)
        }
        settle()
        checkpointIfDue(log)
    }

    /// Tells whose proposals can't come any more. Whatever is committed behind an entry is of its term or a later one,
    /// so an entry decides of all that was proposed before its term.
    /// - Returns: who has proposed this entry, if it was here.
    private func decide(_ entry: Entry) -> Completion? {
        let here = pending.removeValue(forKey: entry.index)
        let isMine = here?.term == entry.term
        if let here, !isMine { here.completion(.failure(.notLeader)) }
        if entry.term > committedTerm {
            committedTerm = entry.term
            for (index, former) in pending where former.term < entry.term {
                pending[index] = nil
                former.completion(.failure(.notLeader))
            }
        }
        return isMine ? here?.completion : nil
    }

    private func failPending() {
        let uncertain = pending
        pending = [:]
        fail(uncertain.values)
    }

    private func fail(_ uncertain: some Sequence<Pending>) {
        for proposal in uncertain {
            proposal.completion(.failure(.failed(Self.unavailable("the system group's leader has changed"))))
        }
    }

    private func failOverdue() {
        guard let overdueAt, overdueAt <= .now else { return }
        let overdue = pending.filter { $0.value.deadline.map { $0 <= .now } ?? false }
        for index in overdue.keys { pending[index] = nil }
        self.overdueAt = pending.values.compactMap(\.deadline).min()
        fail(overdue.values)
    }

    /// Applies nothing any more: the node is to end, and nobody waits for what would have been applied.
    private func halt(_ reason: UnknownContent) {
        isStopped = true
        failPending()
        stop(reason)
    }

    /// - Returns: false for an entry that this program does not understand: nothing is applied from it on.
    private func apply(_ entry: Entry, _ completion: Completion?) -> Bool {
        let command: SystemEntry
        do {
            command = try SystemCodec.decode(entry.payload)
        } catch {
            // Skipping it would make nodes differ.
            halt(UnknownContent(entry: entry.index, of: "the system group", error, own: ownLevel))
            return false
        }
        switch command.command {
        case .raiseLevel(let level, _) where level > ownLevel,
            .createCluster(_, _, _, _, let level) where level > ownLevel:
            halt(UnknownContent(level: level, own: ownLevel))
            return false
        default: break
        }
        let (result, change, level) = state.value.withLock { state in
            let former = state.level
            let (result, change) = state.apply(command, index: entry.index)
            return (result, change, state.level == former ? nil : state.level)
        }
        lastStamp = max(lastStamp, command.time)
        entriesSinceCheckpoint += 1
        // A program that can't do the level finds it when it opens the files, before it knows what is committed.
        if level != nil { entriesSinceCheckpoint = max(entriesSinceCheckpoint, Self.checkpointEntries) }
        bytesSinceCheckpoint += entry.payload.count
        // Observers have been told of a change when the answer goes out.
        if let change {
            // A cluster is created with a level, and that is told as the change of its nodes.
            if let level, case .nodes = change {
                for observer in observers { observer(.level(level)) }
            }
            for observer in observers { observer(change) }
        }
        guard let completion else { return true }
        if case .refused(let error) = result {
            completion(.failure(.failed(error)))
        } else {
            completion(.success(Applied(result: result, index: entry.index)))
        }
        return true
    }

    /// Tells `observer` of the level, and of all nodes and settings that there are, then of each change.
    func observe(_ observer: @escaping @Sendable (SystemChange) -> Void) {
        let (level, nodes, settings) = state.value.withLock { ($0.level, $0.nodes, $0.settings) }
        observer(.level(level))
        if !nodes.isEmpty { observer(.nodes(nodes)) }
        for (name, setting) in settings.sorted(by: { $0.key < $1.key }) { observer(.setting(name, setting)) }
        observers.append(observer)
    }

    /// Runs `body` after each change until it returns true.
    func wait(_ body: @escaping () -> Bool) {
        if !body() { waiting.append(body) }
    }

    /// Once a second: brings the group to where it belongs, if it is led here.
    func tick(_ log: GroupLog, own: ServerID, _ cluster: ClusterView) {
        // All of the state is in the log and its snapshot.
        for learner in log.membership.learners { keeper.replicas.note(complete: learner, in: log.term) }
        keeper.step(log, own: own, cluster)
    }

    /// Asks those who wait again.
    func settle() {
        failOverdue()
        waiting.removeAll { $0() }
    }

    // MARK: - Keeping the log short

    private func checkpointIfDue(_ log: GroupLog) {
        guard !isCheckpointing,
            entriesSinceCheckpoint >= Self.checkpointEntries || bytesSinceCheckpoint >= Self.checkpointBytes
        else { return }
        isCheckpointing = true
        entriesSinceCheckpoint = 0
        bytesSinceCheckpoint = 0
        let (state, index) = (state.value.withLock { $0 }, log.appliedIndex)
        let me = LoopBound(onLoop: (self, log), loop: loop)
        let logger = logger
        file.replace({ SystemCodec.encode(state.snapshot(appliedIndex: index)) }) { result in
            if case .failure(let error) = result {
                // The log holds everything until the next one.
                logger.error("the system state can't be written", metadata: ["error": "\(error)"])
            }
            me.loop.execute {
                let (host, log) = me.value
                host.isCheckpointing = false
                guard case .success = result else { return }
                log.trim(through: index)
                log.onInput()
                // One may have become due meanwhile that does not wait for the next entry.
                host.checkpointIfDue(log)
            }
        }
    }
}

/// The applied state, for readers on any thread: the host alone changes it.
final class SharedSystemState: Sendable {
    let value: Mutex<SystemState>

    init(_ state: SystemState) { value = Mutex(state) }
}
