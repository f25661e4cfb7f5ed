import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import ReplicationDriver
import RoomCore
import RoomProtocol
import Webhooks
import Wire

/// One shard on its loop: its log, its storage and its rooms.
///
/// A call goes: room decides what it may, stages a command; at the end of the turn all staged commands are one
/// proposal; when committed, the room applies them, its rows go to storage and its publications to the lanes.
final class ShardHost: GroupLogDelegate {
    let shard: ShardID
    let log: GroupLog
    let storage: ShardStorage
    let context: RoomContext
    var rooms = RoomSlots()
    /// When rooms in memory have something to do next. Whatever `collect` is called for is noted with the turn's end.
    var agenda = RoomAgenda()
    var proposals: ShardProposals
    var queue = ApplyQueue()
    /// The catalogue is being replaced: nothing is applied.
    var isHeld = false
    /// Nothing is applied any more: the node is to end.
    private(set) var isStopped = false
    var appliedIndex: UInt64
    let publisher: ShardPublisher
    let refusals: ShardRefusals
    var questions = ReadIndexQueue()
    /// Work for rooms in memory that waits until everything that is committed has been applied: an answer from before
    /// would deny what was acked.
    var early: [RoomWork] = []
    /// The term in which this node leads the shard and all have been told so; nil while it does not.
    var ledTerm: UInt64?
    /// Since when; nil while it does not.
    var ledSince: Timestamp?
    /// The index that was committed when this leader was established; nil before.
    var formerIndex: UInt64?
    var followed = FollowedLeader()
    var keeper = GroupKeeper()
    /// Until when sessions of nodes that were lost may be in their grace; in ticks.
    var gracesEnd: UInt64 = 0
    /// Whether this leader has loaded the rooms that wait for one.
    var hasFoundRoomsToRecover = false
    /// Rooms that a new leader must look at and has not loaded yet.
    var roomsToRecover: [RoomID] = []
    var presenceSender = PresenceSender()
    var presenceReplica = PresenceReplica()
    /// Sessions at the former leader's node that are not in their rooms yet, which have to be loaded or wait for a turn.
    var inherited: [RoomID: [InheritedSession]] = [:]
    /// Those of the rooms that are in memory.
    var inheriting: [RoomID] = []
    var checkpointedIndex: UInt64
    var isCheckpointing = false
    private(set) var replica: ReplicaDriver?
    private(set) var webhook: WebhookDispatcher?
    /// Why the disk took nothing for the shard's files when it was last looked at.
    var diskFailure: StorageError?
    var unreadable = UnreadableRooms()
    var isShownDamaged = false
    /// Deleted rooms that can be restored, as last counted, and those that were deleted since.
    var deletedRooms = 0
    var hasCountedDeletedRooms = false
    /// Called before this shard's leadership, won or lost, has any consequence.
    var willChangeLeadership: () -> Void = {}
    /// Called when this shard has work for the end of the turn and had none before.
    private let onWork: (ShardHost) -> Void
    /// The end of the turn will come by this shard.
    private var isExpected = false

    init(
        shard: ShardID, log: GroupLog, storage: ShardStorage, context: RoomContext, outbox: Outbox,
        onWork: @escaping (ShardHost) -> Void
    ) {
        self.shard = shard
        self.log = log
        self.storage = storage
        self.context = context
        proposals = ShardProposals(shard: shard)
        publisher = ShardPublisher(storage: storage, outbox: outbox)
        self.onWork = onWork
        refusals = ShardRefusals(log: log, outbox: outbox)
        appliedIndex = storage.appliedIndex
        checkpointedIndex = storage.appliedIndex
        log.delegate = self
        publisher.onWork = { [unowned self] in noteWork() }
        let webhook = makeWebhook()
        context.callbacks.value.add(webhook, of: shard)
        self.webhook = webhook
        replica = makeReplica()
    }

    var activeRooms: some Sequence<RoomActor> { rooms.active }

    var activeCount: Int { rooms.count }

    func figures(node: NodeID) -> LogFigures {
        var figures = LogFigures()
        figures.shard = UInt32(shard.number)
        figures.leader = log.isEstablished ? node : nil
        figures.term = log.term
        figures.committed = log.commitIndex
        figures.applied = appliedIndex
        figures.uncommitted = Int64(proposals.count)
        figures.syncMs = log.lastSyncDuration / .milliseconds(1)
        figures.isFailing = log.hasFailed || storage.diskFailure != nil
        figures.isOverloaded = !storage.health.takesRows
        return figures
    }

    // MARK: - Calls

    /// Leads, and is not about to leave that to a replica whose disk takes something.
    private var isToLead: Bool { log.isEstablished && (log.isSoleVoter || log.takesWrites) }

    /// Work that has come, or that had to wait: this node may have ceased to lead meanwhile.
    func receive(_ work: RoomWork) {
        guard case .request(let request) = work else { return take(work) }
        guard isToLead else { return refusals.refuse(request) }
        if mayAnswer(request) { take(work) } else { confirm(work) }
    }

    /// Does what this node may: at once, or when the room is loaded and what is committed applied.
    func take(_ work: RoomWork) {
        guard let room = active(orWait: work), !mustWait(work) else { return }
        switch work {
        case .request(let request):
            let now = context.now()
            collect(
                room,
                room.onLoop { room in
                    room.handle(request, at: now)
                    return room.takeOutcome()
                })
        case .visit(_, let body):
            body(room)
            collect(room)
        }
    }

    // MARK: - Through the log

    /// Takes what a room wants proposed, whenever it was asked for anything, and has its output published at the end of
    /// the turn: the one way in which a room hands out anything. Every change of the room touches it.
    func collect(_ room: RoomActor) { collect(room, room.onLoop { $0.takeOutcome() }) }

    private func collect(_ room: RoomActor, _ outcome: (proposed: [ProposedCommand], dirt: RoomActor.NewDirt)) {
        if !outcome.proposed.isEmpty {
            for proposal in outcome.proposed {
                switch proposal.content.command.body {
                case .deleteRoom: proposals.stage(ProposedCommand(keepingDeleted(owingPast(proposal.content))))
                case .purgeRoom: proposals.stage(ProposedCommand(owingPast(proposal.content)))
                default: proposals.stage(proposal)
                }
            }
            noteWork()
        }
        publisher.mark(room, outcome.dirt)
    }

    /// States for how long a room that is deleted can be restored: not at all while the shard keeps too many.
    private func keepingDeleted(_ proposal: Proposal) -> Proposal {
        guard context.cluster.level.brings(.undelete), deletedRooms < RoomPolicy.deletedRoomsMax else {
            return proposal
        }
        deletedRooms += 1
        var proposal = proposal
        proposal.command.facts.keepDeletedSeconds = context.policy.undeleteSeconds
        proposal.command.facts.tellsGoneElements = true
        return proposal
    }

    /// States that what a room owes the webhook stays owed when the room has gone.
    private func owingPast(_ proposal: Proposal) -> Proposal {
        var proposal = proposal
        proposal.command.facts.owesPast = context.cluster.level.brings(.owedPast)
        return proposal
    }

    /// Commands that no proposal has taken yet.
    var stagedCount: Int { proposals.stagedCount }

    /// One proposal for everything that is staged.
    /// - Returns: the entry of the last command, if the log has taken any.
    func proposeStaged() -> UInt64? {
        guard proposals.stagedCount > 0 else { return nil }
        let level = context.cluster.level
        if level < .newest {
            for (proposal, feature) in proposals.takeUpgrading(at: level) {
                fail([proposal], .upgrading(feature), isInDoubt: false)
            }
        }
        guard proposals.stagedCount > 0 else { return nil }
        do throws(ShardProposals.Refused) {
            return try proposals.propose(to: log, storage.health, at: context.now())
        } catch {
            fail(error.proposals, error.error, isInDoubt: error.isInDoubt)
            return nil
        }
    }

    /// Whether an entry that was proposed here is committed, or nobody here waits for it any more.
    func hasCommitted(_ index: UInt64) -> Bool { log.commitIndex >= index || !log.isEstablished }

    /// - Parameter isInDoubt: whether gateways are to ask again, under the same number, where the leader is.
    func fail(_ proposals: [ProposedCommand], _ error: ChatError, isInDoubt: Bool) {
        for proposal in proposals.lazy.map(\.content) {
            if let room = rooms[proposal.command.room] {
                room.onLoop { room in
                    room.noteDecided(proposal, isApplied: false)
                    room.release(proposal)
                }
            }
            refusals.fail(proposal, error, isInDoubt: isInDoubt)
        }
    }

    func log(_ log: GroupLog, didCommit entries: [Entry]) {
        queue.append(contentsOf: entries)
        applyCommitted()
        fetchRooms()
    }

    // MARK: - Applying

    /// Applies what is committed, as far as the rooms are in memory.
    func applyCommitted() {
        // Entries that storage can't take wait here, bounded by the log's output; storage would halt for good.
        guard !isHeld, !isStopped, storage.health != .overloaded else { return }
        let before = appliedIndex
        while let entry = queue.first {
            guard entry.kind != .command || apply(entry) else { break }
            appliedIndex = entry.index
            queue.removeFirst()
        }
        if appliedIndex > before {
            publisher.applied(upTo: appliedIndex)
            log.applied(upTo: appliedIndex)
        }
        guard isUpToDate else { return }
        if log.isEstablished, ledTerm != log.term { beginLeading() }
        receiveEarly()
    }

    /// Applies nothing any more: the node is to end.
    func stop(_ reason: UnknownContent) {
        isStopped = true
        context.stop(reason)
    }

    /// Applies one command; false when its room is not loaded yet, or this program does not understand it.
    private func apply(_ entry: Entry) -> Bool {
        let (proposal, time): (ProposedCommand, Timestamp)
        do throws(WireError) {
            (proposal, time) = try proposals.proposal(of: entry)
        } catch {
            stop(UnknownContent(entry: entry.index, of: "shard \(shard.number)", error, own: .newest))
            return false
        }
        guard let room = rooms[proposal.content.command.room] else {
            // Its turn has come, and an earlier attempt to load it may have failed.
            if rooms.isAbsent(proposal.content.command.room) { load(proposal.content.command.room) }
            return false
        }
        proposals.drop(entry.index, stampedAt: time)
        let stamp = Stamp(index: entry.index, time: time)
        let outcome = publisher.gather { rows in
            room.onLoop { room in
                room.apply(proposal.content, at: stamp, into: &rows)
                return room.takeOutcome()
            }
        }
        let staged = stagedCount
        collect(room, outcome)
        // The next turn proposes what follows from it, should this one's proposal have been made.
        if stagedCount > staged { context.loop.executeLater {} }
        return true
    }

    // MARK: - The end of the turn

    /// Has the end of the turn come by this shard: it passes the others over, so that a turn costs no more for many
    /// shards. To be called for everything that `hasWork` tells of, and when the webhook may begin a batch.
    func noteWork() {
        guard !isExpected else { return }
        isExpected = true
        onWork(self)
    }

    /// Something is left for the end of a turn.
    private var hasWork: Bool { publisher.hasWork || stagedCount > 0 || questions.hasConfirmed }

    /// The end of the turn has come by.
    /// - Returns: whether it is to come by in the next turn as well.
    func endTurn() -> Bool {
        isExpected = hasWork
        return isExpected
    }

    /// Whether the end of the turn would miss something if it passed this shard over.
    var isOverlooked: Bool { !isExpected && hasWork }

    /// Publishes everything that the rooms emitted, before something that is to be heard after it.
    func publishAll() { _ = publish(untilNanoseconds: .max) }

    /// Publishes what the rooms emitted and hands their rows to storage.
    ///
    /// - Parameter end: until when enters are answered, by `EventLoop.nowNanoseconds`.
    /// - Returns: whether some are left for the next turn.
    func publish(untilNanoseconds end: UInt64) -> Bool {
        defer { webhook?.pump() }
        let (isLed, now) = (ledTerm != nil, context.now())
        return publisher.publish(term: ledTerm ?? log.term, untilNanoseconds: end) { room in
            agenda.note(room, isLed: isLed, at: now)
            notePresence(of: room)
        }
    }

    /// Ends the barrage windows that are open.
    func closeBarrageWindows() { publisher.closeBarrageWindows() }

    /// Tells viewers of changed totals.
    func publishTotals() { publisher.publishTotals() }
}
