import ChatModel

/// The rooms of one shard that are in memory or on their way there, and what waits for them.
struct RoomSlots {
    /// Can transition: absent to `loading` to `active` to absent (passivated).
    private enum Slot {
        case loading([RoomWork])
        case active(RoomActor)

        var room: RoomActor? { if case .active(let room) = self { room } else { nil } }
    }

    /// The fate of work for a room.
    enum Place {
        /// The room is in memory.
        case active(RoomActor)
        /// The work waits for the room.
        case waiting
        /// Nobody has asked for the room yet: `beginLoading` takes the work.
        case absent
        case full(ChatError)
    }

    private var slots: [RoomID: Slot] = [:]
    private var loadingCount = 0
    /// How often rooms on their way could not be read; each is asked for again.
    private var failures: [RoomID: Int] = [:]
    /// Reads from before the catalogue was replaced are of another state.
    private(set) var generation = 0

    /// Rooms that may be on their way, and work that may wait for one of them; more is refused with 503. Announcements
    /// are taken beyond that: there are no more of such rooms than have viewers.
    private static let loadingMax = 10_000
    private static let waitingPerRoomMax = 10_000
    /// Rooms that are being loaded at the same time without anybody's calling them; storage refuses too many reads.
    private static let fetchedAtOnceMax = 256

    /// The number of rooms in memory and of those on their way.
    var count: Int { slots.count }

    /// The rooms in memory.
    var active: some Sequence<RoomActor> { slots.values.lazy.compactMap { $0.room } }

    /// Whether one more may be loaded that nobody has called. Those that can't be read hold up no others.
    var mayFetch: Bool { loadingCount - failures.count < Self.fetchedAtOnceMax }

    /// The room, if it is in memory.
    subscript(id: RoomID) -> RoomActor? { slots[id]?.room }

    /// Neither in memory nor on its way.
    func isAbsent(_ id: RoomID) -> Bool { slots[id] == nil }

    func isLoading(_ id: RoomID) -> Bool { if case .loading = slots[id] { true } else { false } }

    // MARK: - On their way

    /// The work's room, if it is in memory; the work waits for one that is being loaded.
    mutating func find(_ work: RoomWork) -> Place {
        let id = work.room
        switch slots[id] {
        case .active(let room):
            return .active(room)
        case .loading(var waiting):
            guard work.mayWait(behind: waiting.count, max: Self.waitingPerRoomMax) else {
                return .full(ChatError(.unavailable, "the room is still loading", retryAfterMs: 500))
            }
            guard failures[id] == nil || work.isPresence else { return .full(Self.unreadable) }
            // Taken out while it grows, so that it is not copied.
            slots[id] = .loading([])
            waiting.append(work)
            slots[id] = .loading(waiting)
            return .waiting
        case nil:
            guard work.mayWait(behind: loadingCount, max: Self.loadingMax) else {
                return .full(ChatError(.unavailable, "too many rooms are loading", retryAfterMs: 500))
            }
            return .absent
        }
    }

    /// Storage is asked for an absent room, for which this waits.
    mutating func beginLoading(_ id: RoomID, _ waiting: [RoomWork]) {
        slots[id] = .loading(waiting)
        loadingCount += 1
    }

    /// The room that was being loaded is in memory, or, nil, could not be read. Returns what has waited for it.
    mutating func endLoading(_ id: RoomID, _ room: RoomActor?) -> [RoomWork] {
        guard case .loading(let waiting) = slots[id] else { return [] }
        loadingCount -= 1
        failures[id] = nil
        slots[id] = room.map { Slot.active($0) }
        return waiting
    }

    /// The outcome for a room that could not be read.
    struct Failure {
        /// Work that has waited for it in vain.
        var failed: [RoomWork]
        /// How often it could not be read; nil when it is on its way no more, since nobody needs it. Else it is to be
        /// asked for again.
        var attempts: Int?
    }

    /// The answer for a room that could not be read.
    static let unreadable = ChatError(.unavailable, "the room can't be read", retryAfterMs: 1000)

    /// The room could not be read. With `isLed` who is here goes on waiting for it, with `isNeeded` even nobody.
    mutating func loadingFailed(_ id: RoomID, isNeeded: Bool, isLed: Bool) -> Failure {
        guard case .loading(let waiting) = slots[id] else { return Failure(failed: []) }
        // A session that goes without having come was never here.
        let kept = isLed && waiting.contains(where: \.isArrival) ? waiting.filter(\.isPresence) : []
        guard isNeeded || !kept.isEmpty else { return Failure(failed: endLoading(id, nil)) }
        slots[id] = .loading(kept)
        failures[id, default: 0] += 1
        return Failure(failed: kept.isEmpty ? waiting : waiting.filter { !$0.isPresence }, attempts: failures[id])
    }

    /// Takes out what waits for rooms, which stay on their way, and is of no use any more, or to be asked anew.
    mutating func takeWaiting(where isTaken: (RoomWork) -> Bool = { _ in true }) -> [RoomWork] {
        var taken: [RoomWork] = []
        for (id, slot) in slots {
            guard case .loading(let waiting) = slot, waiting.contains(where: isTaken) else { continue }
            slots[id] = .loading(waiting.filter { !isTaken($0) })
            taken += waiting.filter(isTaken)
        }
        return taken
    }

    // MARK: - Out of memory

    /// A room in memory leaves it.
    mutating func remove(_ room: RoomActor) { slots[room.id] = nil }

    /// Those in memory leave it; the others stay on their way.
    mutating func removeActive() {
        for (id, slot) in slots {
            if case .active = slot { slots[id] = nil }
        }
    }

    /// None is here any more; what storage still answers is of an earlier generation. Returns what has waited.
    mutating func removeAll() -> [RoomWork] {
        var all: [RoomWork] = []
        for case .loading(let waiting) in slots.values { all += waiting }
        slots = [:]
        failures = [:]
        loadingCount = 0
        generation += 1
        return all
    }
}
