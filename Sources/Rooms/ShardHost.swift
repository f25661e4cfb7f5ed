import ChatModel
import Consensus
import EventLoop
import History
import Logging
import Replication
import RoomCore
import RoomLink
import Sharding
import Wire

/// One shard on its loop: its log, its storage and its rooms.
///
/// A call goes: room decides what it may, stages a command; at the end of the turn all staged commands are one
/// proposal; when committed, the room applies them, its rows go to storage and its publications to the lanes.
final class ShardHost: GroupLogDelegate, ShardApplier {
    /// What waits for a room that is being loaded.
    private enum Work {
        case call(RoomCall)
        case server(ServerCall)
        case visit((RoomActor?) -> Void)

        /// That somebody has gone, or is back: taken in any number, because nobody would say it again.
        var isPresence: Bool {
            guard case .call(let call) = self else { return false }
            return switch call.body {
            case .operation, .barrages: false
            case .leave, .away, .moved, .announce, .follow: true
            }
        }

        var key: PresenceKey? {
            guard case .call(let call) = self else { return nil }
            return PresenceKey(node: call.address.node, session: call.address.session)
        }
    }

    /// Can transition: absent to `loading` to `active` to absent (passivated).
    private enum Slot {
        case loading([Work])
        case active(RoomActor)
    }

    private struct Followed {
        var leader: NodeID
        var notice: ShardNotice
        /// For how long it has been silent; nil while it is not.
        var secondsDoubted: Int?
    }

    let shard: ShardID
    let log: GroupLog
    let storage: ShardStorage
    private let context: RoomContext
    private var rooms: [RoomID: Slot] = [:]
    private var loadingCount = 0
    /// What was asked of storage before the catalogue was replaced is of another state.
    private var loadingGeneration = 0
    /// The catalogue is being replaced: nothing is applied.
    private var isHeld = false
    private var staged: [Proposal] = []
    /// What was proposed and is not committed yet, oldest first.
    private var pending = PendingProposals()
    /// Committed entries that wait until their room is loaded, and all that follow them.
    private var applyQueue: [Entry] = []
    private var applyHead = 0
    /// Up to here in `applyQueue` the rooms that are not in memory have been asked for.
    private var fetchHead = 0
    /// Calls of rooms in memory that wait until everything that is committed has been applied: an answer from before
    /// would deny what was acked.
    private var early: [(room: RoomID, work: Work)] = []
    /// Rooms that a new leader must look at and has not loaded yet.
    private var toLookAt: [RoomID] = []
    private var appliedIndex: UInt64
    /// What was committed when this leader was established; nil before.
    private var formerIndex: UInt64?
    /// The term in which this node leads the shard and all have been told so; nil while it does not.
    private var ledTerm: UInt64?
    /// Questions that wait until a majority has confirmed that this node still leads, and what came behind them.
    private var unconfirmed: [Work] = []
    /// Whose calls are among them: what such a session asks next comes after them.
    private var unconfirmedKeys: [PresenceKey: Int] = [:]
    /// What the confirmation that is under way is for; empty when there is none.
    private var confirming: [Work] = []
    private var checkpointedIndex: UInt64
    private var isCheckpointing = false
    /// Whether this leader has loaded the rooms that wait for one.
    private var hasLookedAround = false
    private var lastStamp = Timestamp(0)
    private var batch = StorageBatch(appliedIndex: 0)
    private var dirtyRooms: [RoomActor] = []
    private var barrageRooms: [RoomActor] = []
    private let outbox: Outbox
    /// The last leader that this replica has followed, and has not replaced itself.
    private var followed: Followed?
    private var keeper = GroupKeeper()
    /// Until when sessions of nodes that were lost may be in their grace; in ticks.
    private var gracesEnd: UInt64 = 0
    private var replica: ReplicaDriver?
    private var webhook: WebhookDispatcher?

    /// Work that may wait for loading rooms; more is refused with 503.
    private static let loadingMax = 10_000
    private static let waitingPerRoomMax = 10_000
    private static let earlyMax = 10_000
    /// Rooms that are being loaded at the same time without anybody's calling them; storage refuses too many reads.
    private static let fetchedAtOnceMax = 256

    /// Questions that may wait for a confirmation; more are refused with 503.
    private static let unconfirmedMax = 50_000

    init(shard: ShardID, log: GroupLog, storage: ShardStorage, context: RoomContext, outbox: Outbox) {
        self.shard = shard
        self.log = log
        self.storage = storage
        self.context = context
        self.outbox = outbox
        appliedIndex = storage.appliedIndex
        checkpointedIndex = storage.appliedIndex
        log.delegate = self
        let webhook = WebhookDispatcher(
            WebhookDispatcher.Shard(
                id: shard, storage: storage, isLeader: { log.isEstablished },
                visit: { [unowned self] in visit($0, $1) }, propose: { [unowned self] in stage([$0], $1) }),
            context: context)
        context.callbacks.value.add(webhook, of: shard)
        self.webhook = webhook
        replica = ReplicaDriver(
            log: log, server: context.server,
            state: ShardReplica(storage: storage, loop: context.loop, applier: self), history: storage,
            loop: context.loop, transport: context.replication, configuration: context.transfers,
            slots: context.transferSlots,
            reports: ReplicaDriver.Reports(
                isComplete: { [unowned self] server, index in
                    keeper.replicas.note(complete: server, upTo: index, in: log.term)
                },
                isGiven: { [unowned self] node in
                    keeper.replicas.note(given: node, committed: log.commitIndex, in: log.term)
                }))
    }

    var activeRooms: [RoomActor] {
        rooms.values.compactMap { if case .active(let room) = $0 { room } else { nil } }
    }

    var activeCount: Int { rooms.count }

    func figures(node: NodeID) -> LogFigures {
        var figures = LogFigures()
        figures.shard = UInt32(shard.number)
        figures.leader = log.isEstablished ? node : nil
        figures.term = log.term
        figures.committed = log.commitIndex
        figures.applied = appliedIndex
        figures.uncommitted = Int64(staged.count + pending.count)
        figures.syncMs = log.lastSyncDuration / .milliseconds(1)
        figures.isFailing = log.hasFailed
        figures.isOverloaded = storage.health == .overloaded
        return figures
    }

    // MARK: - Calls

    func receive(_ call: RoomCall) {
        // Who is here is announced to whoever leads next.
        guard log.isEstablished else { return refuse(call) }
        if !mayAnswer(call) { return confirm(.call(call)) }
        take(call)
    }

    private func take(_ call: RoomCall) {
        guard let room = active(call.room, orWait: .call(call)), !mustWait(.call(call), call.room) else { return }
        handle(call, room)
    }

    func receive(_ call: ServerCall) {
        guard log.isEstablished else { return call.fail(notLeading) }
        if !log.isSoleVoter, !call.isDurable { return confirm(.server(call)) }
        take(call)
    }

    private func take(_ call: ServerCall) {
        guard let room = active(call.room, orWait: .server(call)), !mustWait(.server(call), call.room) else { return }
        handle(call, room)
    }

    // MARK: - Answers that must be current

    /// What only tells needs the word of a majority that nobody else leads meanwhile (thesis §6.4); what changes gets it
    /// with its commit.
    private func mayAnswer(_ call: RoomCall) -> Bool {
        if log.isSoleVoter { return true }
        if unconfirmedKeys[PresenceKey(node: call.address.node, session: call.address.session)] != nil { return false }
        guard case .operation(let operation) = call.body else { return true }
        return !operation.isQuestion
    }

    private func confirm(_ work: Work) {
        guard unconfirmed.count < Self.unconfirmedMax || work.isPresence else {
            return fail(work, ChatError(.unavailable, "too many questions wait", retryAfterMs: 500))
        }
        unconfirmed.append(work)
        if let key = work.key { unconfirmedKeys[key, default: 0] += 1 }
        confirmNext()
    }

    /// One confirmation for everything that waits; what comes meanwhile waits for the next.
    private func confirmNext() {
        guard confirming.isEmpty, !unconfirmed.isEmpty else { return }
        swap(&confirming, &unconfirmed)
        log.readIndex { [unowned self] result in
            // Where leadership was lost they have been refused already.
            guard case .success = result else { return }
            let confirmed = confirming
            confirming = []
            for work in confirmed {
                forgetKey(of: work)
                switch work {
                case .call(let call): take(call)
                case .server(let call): take(call)
                case .visit: break
                }
            }
            confirmNext()
        }
    }

    private func forgetKey(of work: Work) {
        guard let key = work.key, let count = unconfirmedKeys[key] else { return }
        unconfirmedKeys[key] = count > 1 ? count - 1 : nil
    }

    /// Gives the room to `body`, at once or when it is loaded; nil when it can't be had.
    private func visit(_ id: RoomID, _ body: @escaping (RoomActor?) -> Void) {
        guard let room = active(id, orWait: .visit(body)), !mustWait(.visit(body), id) else { return }
        body(room)
    }

    /// Leads, and what was committed before has been applied.
    var isServing: Bool { ledTerm != nil }

    private var hasAppliedQueue: Bool { applyHead == applyQueue.count }

    private var isUpToDate: Bool {
        // Later entries are acked after they have been applied, so nobody knows of them yet.
        let former = formerIndex ?? log.commitIndex
        if log.isEstablished { formerIndex = former }
        return hasAppliedQueue && appliedIndex >= former
    }

    /// Whether committed entries are still to be applied; then the work waits for that.
    private func mustWait(_ work: Work, _ room: RoomID) -> Bool {
        if isUpToDate { return false }
        if early.count < Self.earlyMax || work.isPresence {
            early.append((room, work))
        } else {
            fail(work, ChatError(.unavailable, "the shard's rooms are still loading", retryAfterMs: 500))
        }
        return true
    }

    private func receive(_ work: Work, _ room: RoomID) {
        switch work {
        case .call(let call): receive(call)
        case .server(let call): receive(call)
        case .visit(let body): visit(room, body)
        }
    }

    private func unavailable(_ reason: String) -> ChatError {
        ChatError(
            .unavailable, log.hasFailed ? "this node can't write to its disk; it keeps trying" : reason,
            retryAfterMs: log.hasFailed ? 1000 : 500)
    }

    private func handle(_ call: RoomCall, _ room: RoomActor) {
        let now = context.now()
        stage(room.assumeIsolated { $0.handle(call, at: now) }, room)
    }

    private func handle(_ call: ServerCall, _ room: RoomActor) {
        let now = context.now()
        stage(room.assumeIsolated { $0.handle(call, at: now) }, room)
    }

    private func stage(_ proposals: [Proposal], _ room: RoomActor) {
        staged.append(contentsOf: proposals)
        markDirty(room)
    }

    private var notLeading: ChatError {
        var error = unavailable("no leader for this room yet")
        // Nobody else could.
        if !(log.hasFailed && log.isSoleVoter) { error.field = ChatError.leaderField }
        return error
    }

    /// This node does not lead the room, so it can't take the call.
    private func refuse(_ call: RoomCall) {
        guard case .operation = call.body, let request = call.request else { return }
        // Nobody else could.
        if log.hasFailed, log.isSoleVoter { return refuse(call, notLeading) }
        tell(.retry(call.address.session, request: request), call.address, call.room)
    }

    private func tell(_ output: RoomOutput, _ address: SessionAddress, _ room: RoomID) {
        outbox.add(
            NodePublication(room: room, term: log.term, lanes: [], outputs: [.lane(address.lane, output)]),
            to: address.node)
    }

    private func refuse(_ call: RoomCall, _ error: ChatError) {
        guard let request = call.request else { return }
        let output: RoomOutput
        if case .operation(.enter) = call.body {
            output = .entered(call.address.session, request: request, .failure(error))
        } else {
            output = .reply(call.address.session, request: request, .failure(error))
        }
        tell(output, call.address, call.room)
    }

    func markDirty(_ room: RoomActor) {
        let state = room.assumeIsolated { $0.takeDirt() }
        if state.isNewlyDirty { dirtyRooms.append(room) }
        if state.hasNewBarrage { barrageRooms.append(room) }
    }

    // MARK: - Rooms come and go

    /// The room, if it is in memory; else it is loaded and `work` waits for it.
    private func active(_ id: RoomID, orWait work: Work) -> RoomActor? {
        switch rooms[id] {
        case .active(let room): return room
        case .loading(var waiting):
            guard waiting.count < Self.waitingPerRoomMax || work.isPresence else {
                fail(work, ChatError(.unavailable, "the room is still loading", retryAfterMs: 500))
                return nil
            }
            // Taken out while it grows, so that it is not copied.
            rooms[id] = .loading([])
            waiting.append(work)
            rooms[id] = .loading(waiting)
        case nil:
            guard loadingCount < Self.loadingMax else {
                fail(work, ChatError(.unavailable, "too many rooms are loading", retryAfterMs: 500))
                return nil
            }
            load(id, waiting: [work])
        }
        return nil
    }

    private func load(_ id: RoomID, waiting: [Work]) {
        rooms[id] = .loading(waiting)
        loadingCount += 1
        let me = LoopBound(onLoop: self, loop: context.loop)
        let generation = loadingGeneration
        storage.loadRoom(id) { result in
            me.loop.execute {
                if me.value.loadingGeneration == generation { me.value.loaded(id, result) }
            }
        }
    }

    private func loaded(_ id: RoomID, _ result: Result<LoadedRoom, StorageError>) {
        guard case .loading(let waiting) = rooms[id] else { return }
        loadingCount -= 1
        let room: RoomActor
        do {
            let me = LoopBound(onLoop: self, loop: context.loop)
            room = try RoomActor(
                id: id, shard: shard, loaded: try result.get(), storage: storage, context: context
            ) { room in me.value.stageLate(of: room) }
        } catch {
            context.logger.error("a room can't be loaded", metadata: ["room": "\(id)", "error": "\(error)"])
            rooms[id] = nil
            for work in waiting { fail(work, ChatError(.unavailable, "the room can't be read", retryAfterMs: 1000)) }
            // Entries of this room wait: nothing of the shard is applied past what can't be applied.
            if needsForApply(id) {
                retryLoad(id)
                let waiting = early
                early = []
                for (_, work) in waiting {
                    fail(work, ChatError(.unavailable, "a room of this shard can't be read", retryAfterMs: 1000))
                }
            }
            return
        }
        rooms[id] = .active(room)
        applyCommitted()
        fetchRooms()
        for work in waiting { receive(work, id) }
    }

    /// A room that another leader has taken over since proposes nothing more.
    private func stageLate(of room: RoomActor) {
        guard case .active(let current) = rooms[room.id], current === room else { return }
        stage(room.assumeIsolated { $0.takeLate() }, room)
    }

    private func needsForApply(_ id: RoomID) -> Bool {
        guard applyHead < applyQueue.count else { return false }
        return (try? LogCodec.decode(applyQueue[applyHead].payload))?.0.room == id
    }

    private func retryLoad(_ id: RoomID) {
        context.loop.schedule(afterMilliseconds: 1000) { [unowned self] in
            if rooms[id] == nil { load(id, waiting: []) }
        }
    }

    private func fail(_ work: Work, _ error: ChatError) {
        switch work {
        case .call(let call): refuse(call, error)
        case .server(let call): call.fail(error)
        case .visit(let body): body(nil)
        }
    }

    /// Rooms that nobody is in, that owe nobody anything and whose rows are on disk leave memory.
    func passivateIdle() {
        // Entries that wait may be of any room.
        guard hasAppliedQueue else { return }
        let written = storage.writtenIndex
        let now = context.now()
        let waiting = Set(staged.map(\.command.room))
        for (id, slot) in rooms {
            guard case .active(let room) = slot, !pending.mentions(id), !waiting.contains(id) else { continue }
            let isLed = ledTerm != nil
            if room.assumeIsolated({ $0.mayLeaveMemory(writtenIndex: written, isLed: isLed, at: now) }) {
                rooms[id] = nil
            }
        }
    }

    // MARK: - Through the log

    /// Commands that no proposal has taken yet.
    var stagedCount: Int { staged.count }

    /// One proposal for everything that is staged.
    func proposeStaged() {
        guard !staged.isEmpty else { return }
        let proposals = staged
        staged = []
        guard storage.health != .overloaded else {
            return fail(proposals, ChatError(.unavailable, "the disk can't keep up", retryAfterMs: 1000))
        }
        let time = max(context.now(), lastStamp)
        do throws(RaftError) {
            let range = try log.propose(proposals.map { LogCodec.encode($0.command, time: time) })
            lastStamp = time
            pending.append(proposals, from: range.lowerBound, time: time)
        } catch {
            let isElsewhere = (error.code == .notLeader || error.code == .transferring) && !log.isSoleVoter
            fail(
                proposals,
                ChatError(
                    .unavailable, "the room's log takes nothing now", retryAfterMs: 500,
                    field: isElsewhere ? ChatError.leaderField : nil), isInDoubt: isElsewhere)
        }
    }

    /// - Parameter isInDoubt: whether gateways are to ask again, under the same number, where the leader is.
    private func fail(_ proposals: [Proposal], _ error: ChatError, isInDoubt: Bool = false) {
        for proposal in proposals {
            if proposal.isWaitedFor, case .active(let room) = rooms[proposal.command.room] {
                room.assumeIsolated { $0.release(proposal) }
            }
            switch proposal.origin {
            case .server(let completion): completion(.failure(error))
            case .session(let to):
                guard let request = to.request else { continue }
                let output =
                    isInDoubt
                    ? RoomOutput.retry(to.address.session, request: request)
                    : .reply(to.address.session, request: request, .failure(error))
                tell(output, to.address, proposal.command.room)
            case .room: break
            }
        }
    }

    func logDidChangeLeadership(_ log: GroupLog) {
        tellWhoIsHeard()
        webhook?.reset()
        guard ledTerm != log.term || !log.isEstablished else { return }
        hasLookedAround = false
        formerIndex = nil
        let mayAskElsewhere = !(log.hasFailed && log.isSoleVoter)
        // In doubt: a retry with the same command ID is answered by what the log then says.
        var error = unavailable("the room's leader has changed")
        if mayAskElsewhere { error.field = ChatError.leaderField }
        fail(pending.takeAll(), error, isInDoubt: mayAskElsewhere)
        let proposals = staged
        staged = []
        fail(proposals, error, isInDoubt: mayAskElsewhere)
        refuseUnconfirmed()
        receiveEarly()
        if ledTerm != nil { endLeading() }
    }

    /// Others know of a leader that stands still only when their link to it has been silent for long.
    private func tellWhoIsHeard() {
        if let leader = log.leader.flatMap({ NodeID($0.node) }), !log.isLeader {
            let notice = ShardNotice(shard: shard, term: log.term)
            followed = Followed(leader: leader, notice: notice)
            context.sink.hears(leader, notice)
        } else if log.isLeader {
            followed = nil
        } else if let followed, followed.secondsDoubted == nil, log.membership.voters.contains(context.server) {
            self.followed?.secondsDoubted = 0
            context.sink.doubts(followed.leader, followed.notice)
        }
    }

    /// A replica that the group has gone on without hears nobody for ever; whether the leader lives is then for the
    /// link to say.
    private func endDoubt() {
        guard let followed, let seconds = followed.secondsDoubted else { return }
        self.followed?.secondsDoubted = seconds + 1
        guard seconds >= Self.doubtSeconds else { return }
        self.followed = nil
        context.sink.hears(followed.leader, followed.notice)
    }

    /// More than a link to a dead node lasts.
    private static let doubtSeconds = 10

    private func refuseUnconfirmed() {
        let waiting = confirming + unconfirmed
        confirming = []
        unconfirmed = []
        unconfirmedKeys = [:]
        refuse(waiting)
    }

    /// What this leader knew of who is where is nothing to the next one. Rooms leave memory: what they wait for belongs
    /// to this leader, and their rows are with storage.
    private func endLeading() {
        // In the term in which it was said, and before anybody hears that this node leads no more: what a later leader
        // says comes after it.
        publish()
        outbox.deliver()
        ledTerm = nil
        dirtyRooms = []
        barrageRooms = []
        for (id, slot) in rooms {
            if case .active = slot { rooms[id] = nil }
        }
        toLookAt = []
        context.sink.leadsNoMore(shard)
    }

    /// Everything of former leaders has been applied: this one begins to answer.
    private func beginLeading() {
        ledTerm = log.term
        let now = context.now()
        for room in activeRooms {
            room.assumeIsolated { $0.lead(at: now) }
            markDirty(room)
        }
        context.sink.leads(ShardNotice(shard: shard, term: log.term))
    }

    /// Nodes whose votes count, in order. Voters that the cluster lists no more are left out: their data is gone, or they
    /// were removed, and the group only waits for others in their place.
    var replicas: [NodeID] {
        let listed = Set(context.cluster.current.nodes.map(\.server))
        let voters = log.membership.voters.filter { listed.isEmpty || listed.contains($0) }
        return voters.compactMap { NodeID($0.node) }.sorted()
    }

    /// What this node leads; nil while it does not.
    var notice: ShardNotice? { ledTerm.map { ShardNotice(shard: shard, term: $0) } }

    /// Whether a majority says that this node leads; then its storage is given all that was acked.
    func confirmLead(_ done: @escaping (Bool) -> Void) {
        guard isServing else { return done(false) }
        log.readIndex { done((try? $0.get()) != nil) }
    }

    /// Hands leadership to whoever can take it over at once; false when there is nobody.
    func handOver(to node: NodeID? = nil) -> Bool {
        let wrongClocks = context.cluster.current.wrongClocks
        let ready = log.peerStatuses.filter {
            $0.isVoter && $0.isActive && $0.isCaughtUp && !wrongClocks.contains($0.id.node)
        }
        let heir = ready.filter { node == nil || $0.id.node == node?.text }.max { $0.matchIndex < $1.matchIndex }
        guard log.isEstablished, let heir else { return false }
        do throws(RaftError) {
            try log.transferLeadership(to: heir.id)
            log.onInput()
            return true
        } catch {
            return false
        }
    }

    /// A gateway node can't be reached.
    func lost(_ node: NodeID) {
        guard ledTerm != nil else { return }
        let now = context.now()
        for room in activeRooms {
            if room.assumeIsolated({ $0.lose(node, at: now) }) {
                gracesEnd = ClusterView.ticks() + UInt64(context.policy.graceSeconds + 2) * 10
            }
            markDirty(room)
        }
    }

    func log(_ log: GroupLog, needsSnapshot offer: RaftOutput.SnapshotOffer) {
        guard let replica else { return log.snapshotInstallFailed(offer.mark) }
        replica.take(offer)
    }

    // MARK: - Another replica's state

    /// What another node's replica has sent.
    func receive(_ message: ReplicationMessage, from node: NodeID) { replica?.receive(message, from: node) }

    /// Every 100 ms.
    func tickReplica() { replica?.tick() }

    func holdStill() {
        isHeld = true
        publish()
        forgetRooms()
    }

    func goOn(from mark: SnapshotMark?) {
        // What was begun to be loaded meanwhile may be of either state.
        forgetRooms()
        isHeld = false
        if let mark {
            appliedIndex = mark.index
            checkpointedIndex = mark.index
            // All of them are in the snapshot.
            applyQueue = []
            applyHead = 0
            batch = StorageBatch(appliedIndex: 0)
        }
        fetchHead = applyHead
        applyCommitted()
        fetchRooms()
    }

    /// All rooms leave memory; whoever waits for one is to ask elsewhere.
    private func forgetRooms() {
        let former = rooms
        rooms = [:]
        loadingCount = 0
        loadingGeneration += 1
        dirtyRooms = []
        barrageRooms = []
        toLookAt = []
        for case .loading(let waiting) in former.values { refuse(waiting) }
        let waiting = early.map(\.work)
        early = []
        refuse(waiting)
    }

    private func refuse(_ waiting: [Work]) {
        for work in waiting {
            switch work {
            case .call(let call): refuse(call)
            case .server(let call): call.fail(notLeading)
            case .visit(let body): body(nil)
            }
        }
    }

    func log(_ log: GroupLog, didCommit entries: [Entry]) {
        applyQueue.append(contentsOf: entries)
        applyCommitted()
        fetchRooms()
    }

    /// Whatever could not be applied at once waits for rooms: they are fetched together, the next one first.
    private func fetchRooms() {
        guard !isHeld else { return }
        fetchHead = max(fetchHead, applyHead)
        while fetchHead < applyQueue.count, loadingCount < Self.fetchedAtOnceMax {
            let entry = applyQueue[fetchHead]
            fetchHead += 1
            guard entry.kind == .command, let room = try? LogCodec.decode(entry.payload).0.room, rooms[room] == nil
            else { continue }
            load(room, waiting: [])
        }
    }

    private func applyCommitted() {
        guard !isHeld else { return }
        let before = appliedIndex
        while applyHead < applyQueue.count {
            let entry = applyQueue[applyHead]
            guard entry.kind != .command || apply(entry) else { break }
            appliedIndex = entry.index
            applyHead += 1
        }
        if hasAppliedQueue {
            applyQueue.removeAll(keepingCapacity: true)
            applyHead = 0
            fetchHead = 0
        }
        if appliedIndex > before {
            batch.appliedIndex = appliedIndex
            log.applied(upTo: appliedIndex)
        }
        guard isUpToDate else { return }
        if log.isEstablished, ledTerm != log.term { beginLeading() }
        receiveEarly()
    }

    private func receiveEarly() {
        guard !early.isEmpty else { return }
        let waiting = early
        early = []
        for (room, work) in waiting { receive(work, room) }
    }

    /// Applies one command; false when its room is not loaded yet.
    private func apply(_ entry: Entry) -> Bool {
        let proposal: Proposal
        let time: Timestamp
        if let (mine, stamp) = pending.peek(entry.index) {
            proposal = mine
            time = stamp
        } else {
            do {
                let (command, stamp) = try LogCodec.decode(entry.payload)
                proposal = Proposal(command: command, key: command.id.map(commandKey), origin: .room)
                time = stamp
            } catch {
                // A command that this version can't read would make replicas differ if it were skipped.
                preconditionFailure("shard \(shard): the log entry \(entry.index) can't be understood: \(error)")
            }
        }
        guard case .active(let room) = rooms[proposal.command.room] else {
            // Its turn has come, and an earlier attempt to load it may have failed.
            if rooms[proposal.command.room] == nil { load(proposal.command.room, waiting: []) }
            return false
        }
        pending.drop(entry.index)
        lastStamp = max(lastStamp, time)
        let stamp = Stamp(index: entry.index, time: time)
        let rows = room.assumeIsolated { $0.apply(proposal, at: stamp) }
        batch.history.append(contentsOf: rows.history)
        batch.erasures.append(contentsOf: rows.erasures)
        batch.catalogue.append(contentsOf: rows.catalogue)
        batch.retired.append(contentsOf: rows.retired)
        markDirty(room)
        return true
    }

    // MARK: - The end of the turn

    /// Publishes what the rooms emitted and hands their rows to storage.
    func publish() {
        let term = ledTerm ?? log.term
        for room in dirtyRooms {
            let result = room.assumeIsolated { $0.takePublications(term: term) }
            for (node, publication) in result.publications { outbox.add(publication, to: node) }
            if let row = result.roomRow { batch.catalogue.append(row) }
        }
        dirtyRooms.removeAll(keepingCapacity: true)
        if batch.appliedIndex > 0 {
            storage.write(batch)
            batch = StorageBatch(appliedIndex: 0)
        }
        webhook?.pump()
    }

    /// Ends the barrage windows that are open.
    func closeBarrageWindows() {
        guard !barrageRooms.isEmpty else { return }
        let due = barrageRooms
        barrageRooms.removeAll(keepingCapacity: true)
        for room in due {
            room.assumeIsolated { $0.closeBarrageWindow() }
            markDirty(room)
        }
    }

    /// Digests, counts, deadlines: once a second.
    func tick() {
        endDoubt()
        // Another leader would not know who is in a grace here, and nobody would see them leave.
        keeper.step(log, own: context.server, context.cluster, mayHandOver: ClusterView.ticks() >= gracesEnd)
        guard ledTerm != nil else { return }
        let now = context.now()
        for case .active(let room) in rooms.values {
            stage(room.assumeIsolated { $0.tick(at: now) }, room)
        }
        webhook?.tick()
        expireDue(now)
        if !hasLookedAround {
            hasLookedAround = true
            lookAround()
        }
        loadLookedAt()
    }

    /// A new leader knows nobody's presence: rooms in which something ends with it are loaded. Beyond the bound they
    /// wait until somebody comes to them.
    private func lookAround() {
        let me = LoopBound(onLoop: self, loop: context.loop)
        storage.dueDeadlines(from: .atNewLeader, at: .atNewLeader, limit: Self.lookedAtMax) { result in
            me.loop.execute {
                // An unreadable catalogue is tried again in the next second.
                guard case .success(let found) = result else { return me.value.hasLookedAround = false }
                me.value.toLookAt = found.map(\.room)
                me.value.loadLookedAt()
            }
        }
    }

    /// As many as storage reads at once; the others in the next second.
    private func loadLookedAt() {
        while loadingCount < Self.fetchedAtOnceMax, let room = toLookAt.popLast() {
            if rooms[room] == nil { load(room, waiting: []) }
        }
    }

    private static let lookedAtMax = 5_000

    /// Deadlines of rooms that are not in memory: the rows say which.
    private func expireDue(_ now: Timestamp) {
        let me = LoopBound(onLoop: self, loop: context.loop)
        storage.dueDeadlines(at: now, limit: 100) { result in
            guard case .success(let due) = result, !due.isEmpty else { return }
            me.loop.execute {
                for room in due.map(\.room) where me.value.rooms[room] == nil { me.value.load(room, waiting: []) }
            }
        }
    }

    /// Everything applied so far goes to disk, and the log up to there away.
    func checkpoint() {
        guard !isCheckpointing, appliedIndex > checkpointedIndex else { return }
        isCheckpointing = true
        let wanted = appliedIndex
        let me = LoopBound(onLoop: self, loop: context.loop)
        storage.checkpoint { result in
            me.loop.execute {
                me.value.isCheckpointing = false
                // A failed one is tried again in its turn; the log holds everything until then.
                guard case .success(let synced) = result else { return }
                me.value.checkpointedIndex = wanted
                me.value.log.trim(through: synced)
                me.value.log.onInput()
            }
        }
    }
}
