import ChatModel
import Consensus
import EventLoop
import LogStore
import Logging
import Telemetry

/// One consensus group on its loop: the core, what it waits for, and its way back after a failed write.
package final class GroupLog {
    /// The output of the core, as the driver finds it.
    enum Output {
        /// Nothing has happened since the output was taken. Can become: `possible`, `proposals`.
        case none
        /// Something has happened to the core. Can become: `proposals`, `none`.
        case possible
        /// There are entries, too, that no save has taken yet. Can become: `none`.
        case proposals

        var isNone: Bool { if case .none = self { true } else { false } }

        /// Something has happened to the core.
        mutating func note() { if isNone { self = .possible } }

        /// - Parameter maySave: whether another save can begin, for which the next entries wait otherwise.
        func isDue(maySave: Bool) -> Bool {
            switch self {
            case .none: false
            case .possible: true
            case .proposals: maySave
            }
        }
    }

    /// A reason for which this replica does not lead, besides the log itself.
    private struct Obstacles: OptionSet {
        var rawValue: UInt8

        /// Not all of the history is here.
        static let history = Obstacles(rawValue: 1)
        /// This node's clock disagrees with the others'.
        static let clock = Obstacles(rawValue: 2)
        /// Committed entries can't be written where they are read from.
        static let storage = Obstacles(rawValue: 4)
        /// The settings are not known by which the state machine's owner serves.
        static let settings = Obstacles(rawValue: 8)
    }

    package let group: GroupID
    private let server: ServerID
    private let store: LogStore
    private let loop: EventLoop
    private let configuration: RaftConfiguration
    /// Entries kept in the log for servers that are behind; one that is further behind gets a snapshot.
    private let entriesRetained: UInt64
    /// The snapshot that the state machine was installed from last.
    private var installed: SnapshotMark?
    private var raft: RaftGroup {
        didSet { noteOutput() }
    }
    private(set) var output = Output.possible
    /// Called when there may be output and there was none.
    var onOutput: () -> Void = {}
    /// Messages for other servers of the group, until the driver takes them.
    private(set) var messages: [RaftMessage] = []
    package weak var delegate: (any GroupLogDelegate)?
    private var saves = GroupSaves()
    private var obstacles: Obstacles = []
    private var isStopping = false
    /// Asks the driver to perform what an answer from the store has brought.
    package var onInput: () -> Void = {}
    /// Whether the state machine is being replaced by a snapshot, or is to be.
    package var isInstalling: () -> Bool = { false }
    private var reads: [UInt64: (Result<UInt64, RaftError>) -> Void] = [:]
    private var nextRead: UInt64 = 0
    private var trimmedIndex: UInt64 = 0
    /// nil for a group that is no shard.
    private let figures: ShardFigures?
    /// The counter of all groups of the node.
    private let refusedTerms: Counter?
    private var refusedTermsShown: UInt64 = 0
    private var shownLeader: ServerID?
    private var replicaWatch = ReplicaWatch()
    private var secondsSinceLook = 0

    /// - Parameters:
    ///   - appliedIndex: how far the state machine's own storage is; entries after it come out again.
    ///   - installed: the snapshot that the state machine was installed from last. The log may not know of it yet: the
    ///     process may have ended in between.
    package init(
        group: GroupID, server: ServerID, store: LogStore, loop: EventLoop, appliedIndex: UInt64,
        installed: SnapshotMark? = nil, entriesRetained: UInt64 = GroupLog.entriesRetained,
        figures: ShardFigures? = nil, refusedTerms: Counter? = nil
    ) throws(RaftError) {
        self.refusedTerms = refusedTerms
        self.entriesRetained = entriesRetained
        self.installed = installed
        self.group = group
        self.figures = figures
        self.server = server
        self.store = store
        self.loop = loop
        var configuration = RaftConfiguration()
        // Followers that are further behind are served from the disk.
        configuration.windowBytesMax = Self.windowBytesMax
        // Three in an election timeout: an idle cluster costs little, and that a leader has died its connection tells.
        configuration.heartbeatTicks = 3
        // Followers of a shard answer nobody from their state, but those of the system group do.
        configuration.tellsCommitsAtOnce = figures == nil
        configuration.restartProofTicks = 3 * configuration.electionTimeoutTicks
        self.configuration = configuration
        let stored: StoredGroup
        do throws(LogStoreError) {
            stored = try store.restored(group)
        } catch {
            throw RaftError(.storageFailed, error.message)
        }
        raft = try Self.restore(
            group, of: server, from: stored, configuration, appliedIndex: appliedIndex, installed: installed)
    }

    private static func restore(
        _ group: GroupID, of server: ServerID, from stored: StoredGroup, _ configuration: RaftConfiguration,
        appliedIndex: UInt64, installed: SnapshotMark?
    ) throws(RaftError) -> RaftGroup {
        let start: RaftGroup.Start
        if let installed, installed.index > stored.snapshot?.index ?? 0 {
            var log = stored.restoredLog(appliedIndex: appliedIndex, recentBytesMax: configuration.windowBytesMax)
            log.snapshot = installed
            if log.hardState.term < installed.term { log.hardState = HardState(term: installed.term) }
            start = .restored(log)
        } else if stored.isEmpty {
            // Only the creation of a cluster makes a group's first voter.
            start = .join
        } else {
            start = .restored(
                stored.restoredLog(appliedIndex: appliedIndex, recentBytesMax: configuration.windowBytesMax))
        }
        return try RaftGroup(
            id: server, group: group, configuration: configuration, start: start,
            randomSeed: UInt64.random(in: .min ... .max))
    }

    /// The save that creates a group in a new cluster, so that its one node leads it.
    /// - Parameter index: up to which entry the state goes that a restore has brought; 0: there is none.
    package static func bootstrap(
        _ group: GroupID, _ server: ServerID, after index: UInt64 = 0
    ) throws(RaftError) -> GroupSave? {
        let membership = GroupMembership(voters: [server])
        var start = RaftGroup.Start.bootstrap(membership)
        if index > 0 {
            let mark = SnapshotMark(index: index, term: 1, membership: membership)
            start = .restored(RestoredLog(hardState: HardState(term: 1), snapshot: mark, appliedIndex: index))
        }
        var raft = try RaftGroup(id: server, group: group, start: start, randomSeed: 1)
        return raft.takeOutput().save.map { GroupSave(group, $0) }
    }

    private static let windowBytesMax = 1 << 20

    /// Something has happened to the core.
    private func noteOutput() {
        guard output.isNone else { return }
        output.note()
        onOutput()
    }

    // MARK: - Inputs

    /// Leads, and everything of former terms is known to be committed.
    package var isEstablished: Bool { raft.isEstablished }
    package var isLeader: Bool { raft.isLeader }
    /// Nobody else has to be asked about anything.
    package var isSoleVoter: Bool { raft.isSoleVoter }
    package var term: UInt64 { raft.term }
    package var leader: ServerID? { raft.leader }
    package var membership: GroupMembership { raft.membership }
    package var commitIndex: UInt64 { raft.commitIndex }
    package var appliedIndex: UInt64 { raft.appliedIndex }
    /// Whether the store, which all groups share, takes saves at present, as far as known.
    package var takesWrites: Bool { store.takesWrites }
    /// The duration of the store, which all groups share.
    package var lastSyncDuration: Duration { store.status.lastSyncDuration }

    /// The last write has failed; the core is made anew a second later.
    package var hasFailed: Bool { saves.hasFailed }
    /// The number of times that the core was made anew.
    var generation: Int { saves.generation }

    package func propose(_ payloads: [[UInt8]]) throws(RaftError) -> ClosedRange<UInt64> {
        let range = try raft.propose(payloads)
        output = .proposals
        return range
    }

    /// Answers with an index up to which the state machine must have applied before a read is current; a majority has
    /// confirmed by then that this is still the leader (thesis §6.4).
    package func readIndex(_ completion: @escaping (Result<UInt64, RaftError>) -> Void) {
        nextRead += 1
        do throws(RaftError) {
            try raft.readIndex(nextRead)
            reads[nextRead] = completion
        } catch {
            completion(.failure(error))
        }
    }

    /// Takes a message of another server of the group.
    func step(_ message: RaftMessage) {
        guard !hasFailed else { return }
        raft.step(message)
        countRefusedTerms()
    }

    /// Counts messages that the core refuses and nobody has refused before.
    private func countRefusedTerms() {
        let count = raft.refusedTerms
        guard count != refusedTermsShown else { return }
        // A core that was made anew begins at 0.
        refusedTerms?.add(Int(clamping: count > refusedTermsShown ? count - refusedTermsShown : count))
        refusedTermsShown = count
    }

    /// The node that leads the group may have died.
    func onNodeLost(_ node: NodeID) {
        raft.onNodeLost(node.text)
    }

    /// The node has begun anew.
    func peerRestarted(_ node: NodeID) {
        raft.peerRestarted(node.text)
    }

    /// The process stood still for so many ticks.
    func clockJumped(ticks: Int) {
        raft.clockJumped(ticks: ticks)
    }

    /// This leader's knowledge of the others; empty elsewhere.
    package var peerStatuses: [PeerStatus] { raft.peerStatuses }
    /// The voters that do not keep up, as this leader has last seen; empty elsewhere.
    package var replicasBehind: [ServerID] { replicaWatch.behind }

    /// Call it once a second.
    package func lookAtReplicas() {
        secondsSinceLook += 1
        guard raft.isLeader else {
            replicaWatch.reset()
            figures?.replicasBehind.set(0)
            return
        }
        guard secondsSinceLook >= Self.replicaLookSeconds else { return }
        secondsSinceLook = 0
        replicaWatch.look(at: raft.peerStatuses, term: raft.term, commitIndex: raft.commitIndex)
        figures?.replicasBehind.set(replicaWatch.behind.count)
    }

    private static let replicaLookSeconds = 10

    /// Whether leadership is being handed over.
    package var isTransferring: Bool { raft.transferringTo != nil }

    package func transferLeadership(to server: ServerID) throws(RaftError) {
        try raft.transferLeadership(to: server)
    }

    /// Proposes one change of the group's servers.
    func change(_ change: MembershipChange) throws(RaftError) {
        _ = try raft.proposeMembership(change)
        output = .proposals
    }

    package func snapshotMark(at index: UInt64) -> SnapshotMark? { raft.snapshotMark(at: index) }

    /// Whether the core would go on from that snapshot.
    package func believes(_ mark: SnapshotMark) -> Bool {
        defer { countRefusedTerms() }
        return raft.believes(mark)
    }

    /// The state machine is now, durably, as the snapshot describes.
    package func snapshotInstalled(_ mark: SnapshotMark) {
        installed = mark
        raft.snapshotInstalled(mark)
    }

    /// It could not be had; the state machine is as it was.
    package func snapshotInstallFailed(_ mark: SnapshotMark) {
        raft.snapshotInstallFailed(mark)
    }

    /// Whether this replica has all of the history; it does not lead before.
    package func setIsComplete(_ isComplete: Bool) { set(.history, !isComplete) }

    /// Whether this node's clock agrees with the others'; it does not lead while it does not.
    func setHasRightClock(_ isRight: Bool) { set(.clock, !isRight) }

    /// Whether what is committed can be written where it is read from; it does not lead while it can't.
    package func setHasStorage(_ hasStorage: Bool) { set(.storage, !hasStorage) }

    /// Whether the settings are known by which the state machine's owner serves; it does not lead before.
    package func setKnowsSettings(_ knows: Bool) { set(.settings, !knows) }

    /// The node is stopping: what it has handed over is not to come back to it.
    package func beginStopping() {
        isStopping = true
        setMayLead()
        // The leader hears of it now, and not with the next tick.
        onInput()
    }

    private func set(_ obstacle: Obstacles, _ isThere: Bool) {
        if isThere { obstacles.insert(obstacle) } else { obstacles.remove(obstacle) }
        setMayLead()
    }

    private func setMayLead() {
        // The core may have been made anew.
        if isStopping, raft.takesLeadership { raft.takesLeadership = false }
        // A full disk or one that fails is found out for all groups together, also for those in which nothing happens.
        let mayLead = obstacles.isEmpty && takesWrites && !saves.isOverdue
        guard raft.mayLead != mayLead else { return }
        raft.mayLead = mayLead
    }

    package func applied(upTo index: UInt64) {
        raft.applied(upTo: index)
    }

    func tick() {
        saves.tick(isBehind: raft.commitIndex > raft.persistedIndex)
        if hasFailed {
            // A core that is made now would not know of a state that is just being put in place.
            if saves.isRestartDue, takesWrites, !isInstalling() { restart() }
            return
        }
        setMayLead()
        raft.tick()
    }

    func persisted(save number: UInt64, generation: Int) {
        guard saves.onSaved(generation: generation) else { return }
        raft.persisted(save: number)
    }

    func persistFailed(generation: Int) {
        guard saves.onFailed(generation: generation) else { return }
        raft.persistFailed()
    }

    /// The state machine's storage has everything up to `index` on disk: the log before it can go, but for what other
    /// servers may still ask for.
    package func trim(through synced: UInt64) {
        let isAlone = raft.membership.voters.count + raft.membership.learners.count <= 1
        let retained = isAlone ? 0 : entriesRetained
        let index = min(synced, raft.lastIndex - min(raft.lastIndex, retained))
        guard index > trimmedIndex, !hasFailed, let mark = raft.snapshotMark(at: index) else { return }
        trimmedIndex = index
        raft.snapshotTaken(mark)
    }

    /// After a failed write the core is made anew from what is on disk, and tries to lead again. The loop does not wait
    /// for the disk, which may hang.
    private func restart() {
        saves.onRestartBegun()
        let me = LoopBound(onLoop: self, loop: loop)
        store.restored(group) { result in
            me.loop.execute {
                me.value.restart(from: result)
                me.value.onInput()
            }
        }
    }

    private func restart(from result: Result<StoredGroup, LogStoreError>) {
        // Still not readable, which the node says by not being ready; or a state is being put in place since.
        guard case .success(let stored) = result, !isInstalling() else { return saves.onRestartFailed() }
        do throws(RaftError) {
            raft = try Self.restore(
                group, of: server, from: stored, configuration, appliedIndex: raft.handedOutIndex,
                installed: installed)
            saves.onRestarted()
            setMayLead()
        } catch {
            saves.onRestartFailed()
        }
    }

    /// Some minutes of a busy shard.
    package static let entriesRetained: UInt64 = 20_000

    // MARK: - Outputs

    /// Takes one output and performs all of it but the save, which it returns.
    func takeOutput() -> RaftOutput.Save? {
        var output = raft.takeOutput()
        self.output = .none
        let save = output.save.take()
        messages += output.messages
        if output.leadership != nil { delegate?.logDidChangeLeadership(self) }
        for read in output.readStates { reads.removeValue(forKey: read.token)?(.success(read.index)) }
        for token in output.failedReads {
            reads.removeValue(forKey: token)?(.failure(RaftError(.notLeader, "leadership was lost")))
        }
        for fetch in output.fetches { perform(fetch) }
        if !output.committed.isEmpty {
            delegate?.log(self, didCommit: output.committed)
            // There may be more.
            noteOutput()
        }
        if let offer = output.snapshotOffer { delegate?.log(self, needsSnapshot: offer) }
        if case .some = save { saves.begin() }
        showFigures(isOtherLeader: output.leadership != nil)
        return save
    }

    /// Messages leave without waiting for the save: what depends on it the core holds back.
    func takeMessages() -> [RaftMessage] {
        defer { messages.removeAll(keepingCapacity: true) }
        return messages
    }

    private func showFigures(isOtherLeader: Bool) {
        guard let figures else { return }
        figures.leads.set(raft.isEstablished && !hasFailed ? 1 : 0)
        // A replica that the group has gone on without has entries for ever of which it hears nothing more.
        figures.commitLag.set(raft.isLeader ? Int(clamping: raft.commitLag) : 0)
        guard isOtherLeader, raft.leader != shownLeader else { return }
        shownLeader = raft.leader
        figures.leaderChanges.add()
    }

    /// Deletes what a snapshot mark covers; call it when the mark is on disk, so that the log there never begins after
    /// its mark, whatever becomes of the save.
    func compact(through index: UInt64, generation: Int) {
        guard index > 0, generation == self.generation else { return }
        store.trim(group, through: index)
        raft.compacted(upTo: index)
    }

    private func perform(_ fetch: RaftOutput.Fetch) {
        let me = LoopBound(onLoop: self, loop: loop)
        store.entries(
            group, from: fetch.range.lowerBound, through: fetch.range.upperBound, bytesMax: fetch.bytesMax
        ) { result in
            me.loop.execute {
                me.value.raft.fetched((try? result.get()) ?? [], for: fetch)
                me.value.onInput()
            }
        }
    }
}
