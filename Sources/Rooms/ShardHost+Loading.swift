import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import Logging
import RoomCore
import Wire

/// Rooms come into memory: because somebody calls them, because committed entries are theirs, or because a deadline of
/// theirs has come.
extension ShardHost {
    /// The room, if it is in memory; else it is loaded and `work` waits for it.
    func active(orWait work: RoomWork) -> RoomActor? {
        switch rooms.find(work) {
        case .active(let room): return room
        case .waiting: break
        case .absent: load(work.room, [work])
        case .full(let error): refusals.fail(work, error)
        }
        return nil
    }

    /// For what waits already, or, without it, for nobody yet.
    func load(_ id: RoomID, _ waiting: [RoomWork] = []) {
        rooms.beginLoading(id, waiting)
        read(id)
    }

    private func read(_ id: RoomID) {
        let me = LoopBound(onLoop: self, loop: context.loop)
        let generation = rooms.generation
        storage.loadRoom(id) { result in
            me.loop.execute {
                if me.value.rooms.generation == generation { me.value.loaded(id, result) }
            }
        }
    }

    private func loaded(_ id: RoomID, _ result: Result<LoadedRoom, StorageError>) {
        guard rooms.isLoading(id) else { return }
        let room: RoomActor
        do {
            let me = LoopBound(onLoop: self, loop: context.loop)
            room = try RoomActor(
                id: id, shard: shard, ledSince: ledSince, loaded: try result.get(), storage: storage,
                context: context
            ) { room in me.value.woken(by: room) }
        } catch {
            if let reason = error as? UnknownContent { stop(reason) }
            return loadingFailed(id, error)
        }
        if !unreadable.isEmpty { unreadable.noteReadable(id) }
        // Its messages' times do not go back, whatever this node's clock says after a restart.
        if let time = room.onLoop({ $0.newestTime }) { proposals.raiseStamp(to: time) }
        let waiting = rooms.endLoading(id, room)
        // Nobody may have called it: what is due in it is to be noted all the same.
        let node = presenceSender.isOn ? context.node : nil
        room.onLoop { room in
            room.presence.replicate(node)
            room.touch()
        }
        inherit(into: id)
        collect(room)
        applyCommitted()
        fetchRooms()
        for work in waiting { receive(work) }
        if !inherited.isEmpty { loadRoomsToRecover() }
    }

    private func loadingFailed(_ id: RoomID, _ error: any Error) {
        let isHeldUp = queue.isHeldUp(by: id)
        let failure = rooms.loadingFailed(id, isNeeded: isHeldUp, isLed: log.isEstablished)
        if let attempts = failure.attempts { readAgain(id, after: attempts) }
        if unreadable.logs(id, at: ClusterView.ticks()) {
            context.logger.error(
                "a room can't be loaded", metadata: ["room": "\(id)", "shard": "\(shard.number)", "error": "\(error)"])
        }
        noteDamage(id, error)
        for work in failure.failed { refusals.fail(work, RoomSlots.unreadable) }
        // Entries of this room wait: nothing of the shard is applied past what can't be applied. Announcements wait,
        // too.
        guard isHeldUp else { return }
        failEarly(ChatError(.unavailable, "a room of this shard can't be read", retryAfterMs: 1000))
    }

    /// Other replicas have files of their own.
    private func noteDamage(_ id: RoomID, _ error: any Error) {
        let isDamage = (error as? StorageError)?.code == .corrupt || error is WireError
        guard isDamage, unreadable.noteDamage(id) else { return }
        context.logger.error(
            "a shard's files are damaged; this node leaves leading the shard to others, if there are any",
            metadata: ["shard": "\(shard.number)", "room": "\(id)", "error": "\(error)"])
        showDamage()
        setHasStorage()
    }

    /// After 1, 2, 4 and then every 8 s, for as long as somebody needs it.
    private func readAgain(_ id: RoomID, after attempts: Int) {
        let generation = rooms.generation
        let pauseMilliseconds: UInt64 = 1000 << UInt64(min(attempts - 1, 3))
        context.loop.schedule(afterMilliseconds: pauseMilliseconds) { [unowned self] in
            if rooms.generation == generation, rooms.isLoading(id) { read(id) }
        }
    }

    /// A room has something that no request has brought. One that another leader has taken over since proposes nothing
    /// more: lanes ask that leader by themselves.
    private func woken(by room: RoomActor) {
        if let current = rooms[room.id], current === room { return collect(room) }
        for proposal in room.onLoop({ $0.takeProposals() }) {
            // Recalls of the same messages waited for it.
            room.onLoop { $0.release(proposal.content) }
        }
    }

    // MARK: - What nobody has called

    /// Whatever could not be applied at once waits for rooms: they are fetched together, the next one first.
    func fetchRooms() {
        guard !isHeld else { return }
        while rooms.mayFetch, let room = queue.nextRoom() {
            if rooms.isAbsent(room) { load(room) }
        }
    }

    /// A new leader knows nobody's presence: rooms in which something ends with it are loaded. Beyond the bound they
    /// wait until somebody comes to them.
    func findRoomsToRecover() {
        let me = LoopBound(onLoop: self, loop: context.loop)
        storage.dueDeadlines(from: .atNewLeader, at: .atNewLeader, limit: Self.roomsToRecoverMax) { result in
            me.loop.execute {
                // An unreadable catalogue is tried again in the next second.
                guard case .success(let found) = result else { return me.value.hasFoundRoomsToRecover = false }
                me.value.roomsToRecover += found.map(\.room)
                me.value.loadRoomsToRecover()
            }
        }
    }

    /// As many as storage reads at once; the others in the next second.
    func loadRoomsToRecover() {
        while rooms.mayFetch, let room = roomsToRecover.popLast() {
            if rooms.isAbsent(room) { load(room) }
        }
    }

    static let roomsToRecoverMax = 5_000

    /// Deadlines of rooms that are not in memory: the rows say which.
    func expireDue(_ now: Timestamp) {
        let me = LoopBound(onLoop: self, loop: context.loop)
        // A room leaves memory when its rows are on disk.
        storage.dueDeadlines(at: now, limit: 100, writesFirst: false) { result in
            guard case .success(let due) = result, !due.isEmpty else { return }
            me.loop.execute {
                for room in due.map(\.room) where me.value.rooms.isAbsent(room) { me.value.load(room) }
            }
        }
    }
}
