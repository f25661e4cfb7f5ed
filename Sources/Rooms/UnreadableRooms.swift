import ChatModel

/// The rooms of a shard that this replica can't read because its files are damaged, and whether it leaves leading the shard
/// to others for that. Pure: times are passed in.
///
/// The others' files are others: with one of them as leader the rooms go on. Should nobody else lead within
/// `unrelievedMax`, their files may have the same damage, or they are away: then this replica may lead, with the other
/// rooms of the shard, until a further room is found to be damaged.
struct UnreadableRooms {
    /// In ticks of `ClusterView`.
    static let unrelievedMax: UInt64 = 100
    /// A room that can't be read is logged once in that time, in ticks.
    static let logPause: UInt64 = 600
    /// Nothing is known of further ones, and nothing follows.
    static let roomsMax = 1_000

    private var damaged: Set<RoomID> = []
    private var loggedAt: [RoomID: UInt64] = [:]
    private(set) var leavesLeading = false
    private var unrelievedSince: UInt64?

    var isEmpty: Bool { damaged.isEmpty && loggedAt.isEmpty }
    var hasDamage: Bool { !damaged.isEmpty }

    /// The files contradict themselves where the room is.
    /// - Returns: whether that is news.
    mutating func noteDamage(_ room: RoomID) -> Bool {
        guard damaged.count < Self.roomsMax, damaged.insert(room).inserted else { return false }
        (leavesLeading, unrelievedSince) = (true, nil)
        return true
    }

    /// Whether a failure is to be logged.
    mutating func logs(_ room: RoomID, at ticks: UInt64) -> Bool {
        if let last = loggedAt[room], ticks < last + Self.logPause { return false }
        if loggedAt.count >= Self.roomsMax { loggedAt = loggedAt.filter { ticks < $0.value + Self.logPause } }
        guard loggedAt.count < Self.roomsMax else { return false }
        loggedAt[room] = ticks
        return true
    }

    /// The room can be read.
    mutating func noteReadable(_ room: RoomID) {
        loggedAt[room] = nil
        guard damaged.remove(room) != nil, damaged.isEmpty else { return }
        leavesLeading = false
    }

    /// Call it once a second.
    /// - Parameter othersLead: whether this replica knows a leader, and is not it.
    mutating func look(othersLead: Bool, at ticks: UInt64) {
        guard leavesLeading else { return }
        guard !othersLead else { return unrelievedSince = nil }
        let since = unrelievedSince ?? ticks
        unrelievedSince = since
        if ticks >= since + Self.unrelievedMax { leavesLeading = false }
    }
}
