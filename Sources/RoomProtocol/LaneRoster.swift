import ChatModel

/// Which rooms a lane's sessions are in, by shard, as it is compared with what the leaders believe (`ShardPulse`): how
/// many sessions, the sum of their numbers, and up to where the room's stream has been heard. A shard's sum is kept up
/// with each change, so a pulse costs nothing however many rooms there are. Pure.
public struct LaneRoster: Sendable {
    private struct Entry: Sendable {
        var tally: RoomTally
        let shard: ShardID
        /// The number of the room's ID (`RoomTally.number`).
        let number: UInt64
        /// The part that it adds to its shard's sum.
        var digest: UInt64
    }

    private struct Shard: Sendable {
        var rooms: Set<RoomID> = []
        var digest: UInt64 = 0
    }

    private var rooms: [RoomID: Entry] = [:]
    private var byShard: [ShardID: Shard] = [:]

    public init() {}

    /// The shards of rooms that somebody is in.
    public var shards: some Sequence<ShardID> { byShard.keys }

    /// A session is in the room from now on.
    /// - Parameter number: made of its ID, as the leader makes it.
    public mutating func add(_ number: UInt64, to room: RoomID, of shard: ShardID) {
        if rooms[room] == nil {
            rooms[room] = Entry(
                tally: RoomTally(room: room), shard: shard, number: RoomTally.number(of: room), digest: 0)
            byShard[shard, default: Shard()].rooms.insert(room)
        }
        change(room) { tally in
            tally.sessions += 1
            tally.sum &+= number
        }
    }

    /// A session that was in the room is not any more.
    public mutating func remove(_ number: UInt64, from room: RoomID, of shard: ShardID) {
        guard let entry = rooms[room] else { return }
        guard entry.tally.sessions <= 1 else {
            return change(room) { tally in
                tally.sessions -= 1
                tally.sum &-= number
            }
        }
        rooms[room] = nil
        byShard[shard]?.digest &-= entry.digest
        byShard[shard]?.rooms.remove(room)
        if byShard[shard]?.rooms.isEmpty == true { byShard[shard] = nil }
    }

    /// The room's stream has come to this seq.
    public mutating func hear(_ seq: UInt64, of room: RoomID) {
        guard let tally = rooms[room]?.tally, tally.seq < seq else { return }
        change(room) { $0.seq = seq }
    }

    /// The room's stream goes on from this seq, maybe of another life of the room.
    public mutating func advance(through seq: UInt64, of room: RoomID) { change(room) { $0.seq = seq } }

    private mutating func change(_ room: RoomID, _ body: (inout RoomTally) -> Void) {
        guard var entry = rooms[room] else { return }
        body(&entry.tally)
        let former = entry.digest
        entry.digest = entry.tally.digest(named: entry.number)
        byShard[entry.shard]?.digest &+= entry.digest &- former
        rooms[room] = entry
    }

    /// The rooms of a shard.
    public func rooms(of shard: ShardID) -> Set<RoomID> { byShard[shard]?.rooms ?? [] }

    /// A shard's rooms, summed up.
    public func tally(of shard: ShardID, lane: Int) -> LaneTally {
        var tally = LaneTally(lane: lane)
        guard let sum = byShard[shard] else { return tally }
        (tally.rooms, tally.digest) = (UInt64(sum.rooms.count), sum.digest)
        return tally
    }

    /// The same, room by room.
    public func tallies(of shard: ShardID, _ part: RoomPart = .whole) -> [RoomID: RoomTally] {
        var all: [RoomID: RoomTally] = [:]
        for room in byShard[shard]?.rooms ?? [] {
            if let entry = rooms[room], part.contains(named: entry.number) { all[room] = entry.tally }
        }
        return all
    }
}
