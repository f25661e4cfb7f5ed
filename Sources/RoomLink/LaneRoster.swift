import ChatModel

/// Which rooms a lane's sessions are in, by shard, as it is compared with what the leaders believe (`ShardPulse`): how many
/// sessions, the sum of their numbers, and up to where the room's stream has been heard. Pure.
public struct LaneRoster: Sendable {
    private var rooms: [RoomID: RoomTally] = [:]
    private var byShard: [ShardID: Set<RoomID>] = [:]

    public init() {}

    /// The shards of rooms that somebody is in.
    public var shards: some Sequence<ShardID> { byShard.keys }

    /// A session is in the room from now on.
    /// - Parameter number: made of its ID, as the leader makes it.
    public mutating func add(_ number: UInt64, to room: RoomID, of shard: ShardID) {
        if rooms[room] == nil {
            rooms[room] = RoomTally(room: room)
            byShard[shard, default: []].insert(room)
        }
        rooms[room]?.sessions += 1
        rooms[room]?.sum &+= number
    }

    /// A session that was in the room is not any more.
    public mutating func remove(_ number: UInt64, from room: RoomID, of shard: ShardID) {
        guard var tally = rooms[room] else { return }
        tally.sessions -= min(1, tally.sessions)
        tally.sum &-= number
        guard tally.sessions == 0 else { return rooms[room] = tally }
        rooms[room] = nil
        byShard[shard]?.remove(room)
        if byShard[shard]?.isEmpty == true { byShard[shard] = nil }
    }

    /// The room's stream has come to this seq.
    public mutating func hear(_ seq: UInt64, of room: RoomID) {
        guard let tally = rooms[room], tally.seq < seq else { return }
        rooms[room]?.seq = seq
    }

    /// The room's stream goes on from this seq, maybe of another life of the room.
    public mutating func goOn(through seq: UInt64, of room: RoomID) { rooms[room]?.seq = seq }

    /// The rooms of a shard.
    public func rooms(of shard: ShardID) -> Set<RoomID> { byShard[shard] ?? [] }

    /// A shard's rooms, summed up.
    public func tally(of shard: ShardID, lane: Int) -> LaneTally {
        var tally = LaneTally(lane: lane)
        for room in byShard[shard] ?? [] {
            if let room = rooms[room] { tally.add(room) }
        }
        return tally
    }

    /// The same, room by room.
    public func tallies(of shard: ShardID) -> [RoomID: RoomTally] {
        var all: [RoomID: RoomTally] = [:]
        for room in byShard[shard] ?? [] { all[room] = rooms[room] }
        return all
    }
}
