import ChatModel
import RoomLink

/// Which rooms a lane's sessions are in, by shard, as it is compared with what the leaders believe (`ShardPulse`): how many
/// sessions, the sum of their numbers, and up to where the room's stream has been heard. Pure.
struct LaneRoster {
    private var rooms: [RoomID: RoomTally] = [:]
    private var byShard: [ShardID: Set<RoomID>] = [:]

    /// The shards of rooms that somebody is in.
    var shards: some Sequence<ShardID> { byShard.keys }

    /// A session is in the room from now on.
    mutating func add(_ session: Session, to room: RoomID, of shard: ShardID) {
        if rooms[room] == nil {
            rooms[room] = RoomTally(room: room)
            byShard[shard, default: []].insert(room)
        }
        rooms[room]?.sessions += 1
        rooms[room]?.sum &+= session.hash
    }

    /// A session that was in the room is not any more.
    mutating func remove(_ session: Session, from room: RoomID, of shard: ShardID) {
        guard var tally = rooms[room] else { return }
        tally.sessions -= min(1, tally.sessions)
        tally.sum &-= session.hash
        guard tally.sessions == 0 else { return rooms[room] = tally }
        rooms[room] = nil
        byShard[shard]?.remove(room)
        if byShard[shard]?.isEmpty == true { byShard[shard] = nil }
    }

    /// The room's stream has come to this seq.
    mutating func hear(_ seq: UInt64, of room: RoomID) {
        guard let tally = rooms[room], tally.seq < seq else { return }
        rooms[room]?.seq = seq
    }

    /// The room's stream goes on from this seq, maybe of another life of the room.
    mutating func goOn(through seq: UInt64, of room: RoomID) { rooms[room]?.seq = seq }

    /// The rooms of a shard.
    func rooms(of shard: ShardID) -> Set<RoomID> { byShard[shard] ?? [] }

    /// A shard's rooms, summed up.
    func tally(of shard: ShardID, lane: Int) -> LaneTally {
        var tally = LaneTally(lane: lane)
        for room in byShard[shard] ?? [] {
            if let room = rooms[room] { tally.add(room) }
        }
        return tally
    }

    /// The same, room by room.
    func tallies(of shard: ShardID) -> [RoomID: RoomTally] {
        var all: [RoomID: RoomTally] = [:]
        for room in byShard[shard] ?? [] { all[room] = rooms[room] }
        return all
    }
}
