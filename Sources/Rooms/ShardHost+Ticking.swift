import ChatModel
import EventLoop
import GroupDriver
import History
import Logging
import RoomCore
import Webhooks

/// Work that time brings: deadlines, rooms that leave memory, checkpoints.
extension ShardHost {
    /// Digests, counts, deadlines: once a second.
    func tick() {
        endDoubt()
        // A replica that can't write what it is told would answer nobody sooner or later, and what was not written
        // can't be read until then.
        let takesRows = storage.health.takesRows
        noteDisk()
        log.setHasStorage(takesRows && diskFailure == nil)
        if !takesRows { failEarly(ShardProposals.tooSlow) }
        if !queue.isEmpty { applyCommitted() }
        if ledTerm != nil, rooms.active.contains(where: { $0.assumeIsolated { !$0.graces.unreachable.isEmpty } }) {
            // And time to commit that they have left.
            gracesEnd = ClusterView.ticks() + 20
        }
        // Another leader would not know who is in a grace here, and nobody would see them leave.
        keeper.step(log, own: context.server, context.cluster, mayHandOver: ClusterView.ticks() >= gracesEnd)
        guard ledTerm != nil else { return }
        let now = context.now()
        if !isEndingGraces { endGraces() }
        for room in rooms.active {
            room.assumeIsolated { $0.tick(at: now) }
            collect(room)
        }
        webhook?.tick()
        expireDue(now)
        countDeletedRooms()
        if !hasFoundRoomsToRecover {
            hasFoundRoomsToRecover = true
            findRoomsToRecover()
        }
        loadRoomsToRecover()
    }

    /// Sessions leave that a lost node had, a share of a turn at a time.
    private func endGraces() {
        isEndingGraces = false
        guard ledTerm != nil else { return }
        let (now, end) = (context.now(), EventLoop.nowNanoseconds + EventLoop.shareNanoseconds)
        var isDone = true
        for room in rooms.active where isDone {
            guard room.assumeIsolated({ !$0.graces.unreachable.isEmpty }) else { continue }
            isDone = !room.assumeIsolated { $0.endGraces(at: now, untilNanoseconds: end) }
            collect(room)
        }
        guard !isDone else { return }
        isEndingGraces = true
        context.loop.executeLater { [weak self] in self?.endGraces() }
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

    /// Rooms that nobody is in, that owe nobody anything and whose rows are on disk leave memory.
    func passivateIdle() {
        // Entries that wait may be of any room.
        guard queue.isEmpty else { return }
        let written = storage.writtenIndex
        let now = context.now()
        let staged = proposals.stagedRooms
        let isLed = ledTerm != nil
        for room in rooms.active where !proposals.hasPending(of: room.id) && !staged.contains(room.id) {
            if room.assumeIsolated({ $0.mayLeaveMemory(writtenIndex: written, isLed: isLed, at: now) }) {
                rooms.remove(room)
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
