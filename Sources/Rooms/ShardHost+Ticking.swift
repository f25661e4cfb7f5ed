import ChatModel
import EventLoop
import GroupDriver
import History
import Logging
import RoomCore
import Telemetry
import Webhooks

/// Work that time brings: deadlines, rooms that leave memory, checkpoints.
extension ShardHost {
    /// The work of the shard beside its rooms: once a second.
    func tick() {
        endSuspicion()
        // A replica that can't write what it is told would answer nobody sooner or later, and what was not written
        // can't be read until then.
        let takesRows = storage.health.takesRows
        noteDisk()
        unreadable.look(
            othersLead: log.leader.map { $0 != context.server } ?? false, at: ClusterView.ticks())
        showDamage()
        setHasStorage()
        log.lookAtReplicas()
        if !takesRows { failEarly(ShardProposals.tooSlow) }
        if !queue.isEmpty { applyCommitted() }
        if ledTerm != nil, agenda.graceCount > 0 || !inherited.isEmpty {
            // And time to commit that they have left.
            gracesEnd = ClusterView.ticks() + 20
        }
        // Another leader would not know who is in a grace here, and nobody would see them leave.
        keeper.step(log, own: context.server, context.cluster, mayHandOver: ClusterView.ticks() >= gracesEnd)
        let now = context.now()
        presenceReplica.forgetOutdated(at: now)
        askForPresence()
        guard ledTerm != nil else { return }
        choosePresenceReplicas()
        endInheriting(at: now)
        webhook?.tick()
        expireDue(now)
        countDeletedRooms()
        if !hasFoundRoomsToRecover {
            hasFoundRoomsToRecover = true
            findRoomsToRecover()
        }
        loadRoomsToRecover()
    }

    /// Rooms that are not in memory deny it when somebody decides, or its time is over.
    func denyHeld(of user: UserID) {
        guard ledTerm != nil else { return }
        for room in rooms.active where room.onLoop({ $0.denyHeld(of: user) }) { collect(room) }
    }

    /// Looks at the rooms in which something is due at `time`, until the time of the turn is over: digests, counts,
    /// deadlines, graces that end, and rooms that leave memory.
    /// - Returns: whether no more are due.
    func lookAtDueRooms(at time: Timestamp, isChecked: Bool, untilNanoseconds end: UInt64) -> Bool {
        let now = min(time, context.now())
        if agenda.beginLook(at: now) { agenda.planAnew(rooms.active, isLed: ledTerm != nil, at: now) }
        if isChecked { assertNothingIsOverlooked(at: now) }
        var changing: Set<RoomID>?
        var steps = 0
        while let step = agenda.next(at: now) {
            if case .due(let id) = step, let room = rooms[id] { look(at: room, now, &changing, untilNanoseconds: end) }
            steps += 1
            if steps.isMultiple(of: Self.looksAtATime), EventLoop.nowNanoseconds >= end { return false }
        }
        return true
    }

    /// How many looks there are between two readings of the clock.
    private static let looksAtATime = 16

    /// Rooms stay while more commands than this are under way: they are looked through for those that they are of.
    private static let changingMax = 4_096

    /// - Parameter changing: the rooms with commands that are not committed, from when on somebody has asked for them: nothing
    ///   is committed meanwhile, and a look that has a command staged lets its room stay.
    private func look(
        at room: RoomActor, _ now: Timestamp, _ changing: inout Set<RoomID>?, untilNanoseconds end: UInt64
    ) {
        let (isLed, stagedBefore) = (ledTerm != nil, stagedCount)
        let isLeftOver = room.onLoop { room in
            room.note.dueAt = nil
            return room.look(at: now, isLed: isLed, untilNanoseconds: end)
        }
        if isLed { collect(room) }
        let written = storage.writtenIndex
        // Entries that wait may be of any room.
        if stagedCount == stagedBefore, queue.isEmpty, proposals.count <= Self.changingMax,
            room.onLoop({ $0.mayLeaveMemory(writtenIndex: written, isLed: isLed, at: now) })
        {
            let busy = changing ?? proposals.rooms
            changing = busy
            if !busy.contains(room.id) {
                agenda.forget(room)
                return rooms.remove(room)
            }
        }
        if isLeftOver { agenda.planAgain(room, at: now) } else { agenda.plan(room, isLed: isLed, at: now) }
    }

    /// Once, and then while there seem to be too many: those that are gone for good since are not counted here.
    private func countDeletedRooms() {
        guard !hasCountedDeletedRooms || deletedRooms >= RoomPolicy.deletedRoomsMax else { return }
        hasCountedDeletedRooms = true
        let me = LoopBound(onLoop: self, loop: context.loop)
        storage.count(.deletedRoom) { result in
            me.loop.execute {
                guard case .success(let count) = result else {
                    // The former count holds until the catalogue can be read.
                    me.value.hasCountedDeletedRooms = false
                    return
                }
                me.value.deletedRooms = count
            }
        }
    }

    /// Whether this replica may lead, as far as its files are concerned. With damaged ones the only voter goes on: it has what
    /// there is.
    func setHasStorage() {
        let isReadable = log.isSoleVoter || !unreadable.leavesLeading
        log.setHasStorage(storage.health.takesRows && diskFailure == nil && isReadable)
    }

    /// Counts the shard among those whose files are damaged here.
    func showDamage() {
        guard unreadable.hasDamage != isShownDamaged else { return }
        isShownDamaged.toggle()
        context.figures.damagedShards.add(isShownDamaged ? 1 : -1)
    }

    private func noteDisk() {
        let failure = storage.diskFailure
        defer { diskFailure = failure }
        guard (failure == nil) != (diskFailure == nil) else { return }
        if let failure {
            context.logger.error(
                "a shard's files can't be written; this node leaves leading the shard to others until they can",
                metadata: ["shard": "\(shard.number)", "error": "\(failure)"])
        } else {
            context.logger.notice("a shard's files can be written again", metadata: ["shard": "\(shard.number)"])
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
