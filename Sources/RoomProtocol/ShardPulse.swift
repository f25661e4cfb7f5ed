import ChatModel

/// A leader's word about a shard to every node, once a second, in the order of its rooms' publications: that it leads,
/// also when all is quiet, and what it believes of each lane of that node that has sessions in the shard's rooms. By
/// that a lane finds out that it, or the leader, has missed something, whatever the reason: a lane that is shown
/// nothing, and sessions that the leader believes to be here and are not.
///
/// Its size does not depend on rooms or sessions, so a second costs a cluster as many of them as it has shards and
/// nodes.
public struct ShardPulse: Sendable, Hashable {
    public var shard: ShardID
    public var term: UInt64
    /// The lanes of the node that is told which have sessions in the shard's rooms.
    public var lanes: [LaneTally]

    public init(shard: ShardID, term: UInt64, lanes: [LaneTally]) {
        (self.shard, self.term, self.lanes) = (shard, term, lanes)
    }

    /// The tally of that lane.
    public func tally(of lane: Int) -> LaneTally { lanes.first { $0.lane == lane } ?? LaneTally(lane: lane) }
}

/// The sum over one lane's sessions in the rooms of a shard; equal on both sides while nothing is under way.
public struct LaneTally: Sendable, Hashable {
    public var lane: Int
    /// Rooms of the shard with sessions of the lane.
    public var rooms: UInt64 = 0
    /// The sum of the rooms' digests.
    public var digest: UInt64 = 0

    public init(lane: Int) { self.lane = lane }

    public mutating func add(_ room: RoomTally) {
        guard room.sessions > 0 else { return }
        add(digest: room.digest)
    }

    /// The same of a room with sessions, whose digest is known.
    public mutating func add(digest: UInt64) {
        rooms += 1
        self.digest &+= digest
    }

    /// Takes a room out that was added with that digest.
    public mutating func remove(digest: UInt64) {
        rooms &-= 1
        self.digest &-= digest
    }
}

/// The sum over one lane's sessions in one room, and how far the lane has been told the room's stream.
public struct RoomTally: Sendable, Hashable {
    public var room: RoomID
    /// How many of the lane's sessions are in it.
    public var sessions: UInt64
    /// The sum of numbers made of their IDs.
    public var sum: UInt64
    /// Up to where the lane has been told, or is told before this.
    public var seq: UInt64
    /// The leader waits for the lane to say what its viewers have been shown.
    public var isWaiting: Bool

    public init(room: RoomID, sessions: UInt64 = 0, sum: UInt64 = 0, seq: UInt64 = 0, isWaiting: Bool = false) {
        (self.room, self.sessions, self.sum, self.seq, self.isWaiting) = (room, sessions, sum, seq, isWaiting)
    }

    /// FNV-1a over all of it. The sum of many of them is compared, so the last step mixes all bits.
    public var digest: UInt64 { digest(named: Self.number(of: room)) }

    /// FNV-1a over the room's ID.
    public static func number(of room: RoomID) -> UInt64 {
        var hash = Checksum.start
        for byte in room.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    /// The digest, where the number of the room's ID is known.
    public func digest(named number: UInt64) -> UInt64 {
        var hash = number
        func mix(_ word: UInt64) { hash = (hash ^ word) &* 0x100_0000_01b3 }
        mix(sessions)
        mix(sum)
        mix(seq)
        mix(isWaiting ? 1 : 0)
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        return hash ^ (hash >> 33)
    }
}

/// Some of a shard's rooms. A lane with more of them than one answer holds asks for one part after the other, which
/// both sides find by the number of a room's ID alone.
public struct RoomPart: Sendable, Hashable {
    /// From 0 on.
    public let number: UInt32
    /// The number of parts, at least one.
    public let count: UInt32

    public static let whole = RoomPart(0, of: 1)
    /// Beyond it parts are not made smaller: rooms of that many answers.
    public static let countMax: UInt32 = 4_096

    /// A number out of bounds becomes the nearest one within.
    public init(_ number: UInt32, of count: UInt32) {
        self.count = min(max(1, count), Self.countMax)
        self.number = min(number, self.count - 1)
    }

    public var next: RoomPart { RoomPart(number + 1 < count ? number + 1 : 0, of: count) }

    public func contains(_ room: RoomID) -> Bool { count == 1 || contains(named: RoomTally.number(of: room)) }

    /// The same, where the number of the room's ID is known.
    public func contains(named number: UInt64) -> Bool {
        // The low bits of FNV alone are not even.
        count == 1 || ((number ^ (number >> 32)) % UInt64(count)) == UInt64(self.number)
    }
}

/// A lane's pulses differ from what it has: the leader is to tell room by room.
public struct TallyRequest: Sendable, Hashable {
    public var shard: ShardID
    public var lane: Int
    public var part: RoomPart

    public init(shard: ShardID, lane: Int, part: RoomPart = .whole) {
        (self.shard, self.lane, self.part) = (shard, lane, part)
    }
}

/// The answer, in the order of what the shard's rooms tell.
public struct ShardTallies: Sendable, Hashable {
    public var shard: ShardID
    public var lane: Int
    /// nil: the node does not lead the shard.
    public var term: UInt64?
    /// At most ``roomsMax``, all of `part`.
    public var rooms: [RoomTally]
    /// Whether no room of the part is left out.
    public var isWhole: Bool
    /// The part that was asked for.
    public var part: RoomPart

    /// Rooms of one answer: some 100 KB of usual names. A lane with more of one shard asks for them part by part.
    public static let roomsMax = 4_096

    public init(
        shard: ShardID, lane: Int, term: UInt64?, rooms: [RoomTally] = [], isWhole: Bool = true,
        part: RoomPart = .whole
    ) {
        (self.shard, self.lane, self.term, self.rooms, self.isWhole) = (shard, lane, term, rooms, isWhole)
        self.part = part
    }
}

/// A lane counts its sessions in these rooms anew: those that it does not announce behind this begin their grace. It
/// travels in the order of the lane's calls.
public struct LaneRecount: Sendable, Hashable {
    public var lane: Int
    public var rooms: [RoomID]

    public init(lane: Int, rooms: [RoomID]) { (self.lane, self.rooms) = (lane, rooms) }
}
