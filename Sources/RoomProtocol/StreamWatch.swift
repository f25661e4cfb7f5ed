import ChatModel

/// A lane's conclusions from the leaders' pulses of the shards that its sessions are in (`ShardPulse`): whom it asks
/// for more, which rooms it is to announce and follow anew, and which connection is of no use. Pure.
///
/// A single difference may be under way: a session that is just leaving, a message that the viewer budget has left out
/// and that is told a second later. So the second pulse in a row that differs makes it ask room by room, and what
/// differs in two of the answers in a row is put right: three seconds after it went wrong. A shard of whose leader
/// nothing is heard for three seconds is asked for in the same way, and two more later the connection is ended, as the
/// link itself ends one that is silent.
public struct StreamWatch: Sendable {
    /// Pulses in a row that differ, before the lane asks.
    public static let pulsesMax = 2
    /// Seconds of silence before the lane asks.
    public static let silenceMax = 3
    /// And before it ends the connection.
    public static let patienceMax = 5
    /// Pulses in a row that can't be compared, because the leader goes on from what the lane has been shown, before the
    /// lane asks all the same, and between two such questions: one room that its leader does not go on with must not
    /// hide all others of its shard.
    public static let unsaidMax = 4
    /// Seconds between two repairs of a room, at first; then twice as many each time, up to `pauseMax`.
    public static let pauseFirst: UInt64 = 4
    public static let pauseMax: UInt64 = 64

    /// The consequence of silence.
    public enum Finding: Sendable, Hashable {
        /// The leader is to tell room by room.
        case ask(ShardID)
        /// The connection to the shard's leader is of no use.
        case drop(ShardID)
    }

    private struct Shard {
        var silence = 0
        var differing = 0
        /// Pulses in a row that were not compared.
        var unsaid = 0
        /// The part that is asked for next.
        var part = RoomPart.whole
        /// Rooms that differed in the last answer, and the seq that the leader said there.
        var suspects: [RoomID: UInt64] = [:]
        /// Rooms that were repaired, until the shard agrees.
        var repairs: [RoomID: (count: UInt64, notBefore: UInt64)] = [:]
    }

    private var shards: [ShardID: Shard] = [:]
    private var seconds: UInt64 = 0

    public init() {}

    /// The shard has another leader, or none: what is known of it is of no use.
    public mutating func forget(_ shard: ShardID) { shards[shard] = nil }

    /// A pulse has come of the shard's leader.
    /// - Parameter agrees: whether it says what the lane has; nil while that can't be compared, because something of it
    ///   is being told anew.
    /// - Returns: whether the leader is to be asked room by room.
    public mutating func pulse(of shard: ShardID, agrees: Bool?) -> Bool {
        guard let agrees else {
            let unsaid = (shards[shard]?.unsaid ?? 0) + 1
            shards[shard, default: Shard()].unsaid = unsaid
            shards[shard]?.silence = 0
            return unsaid % Self.unsaidMax == 0
        }
        guard !agrees else {
            shards[shard] = nil
            return false
        }
        let differing = (shards[shard]?.differing ?? 0) + 1
        shards[shard, default: Shard()].differing = differing
        shards[shard]?.silence = 0
        shards[shard]?.unsaid = 0
        return differing >= Self.pulsesMax
    }

    /// Which rooms of the shard the leader is to be asked for now.
    /// - Parameter rooms: so many the lane has of it.
    public mutating func part(of shard: ShardID, rooms: Int) -> RoomPart {
        var part = shards[shard]?.part ?? .whole
        // Half full, so that one more room is not one part more.
        while part.count < RoomPart.countMax, rooms > Int(part.count) * ShardTallies.roomsMax / 2 {
            part = RoomPart(0, of: part.count * 2)
        }
        shards[shard, default: Shard()].part = part
        return part
    }

    /// Which rooms are to be announced and followed anew.
    ///
    /// - Parameters:
    ///   - told: what the leader says.
    ///   - own: what the lane has, of every room of that part of the shard that it has sessions in.
    ///   - isAwaited: what is being told anew, and has a deadline of its own.
    public mutating func repairs(
        told: ShardTallies, own: [RoomID: RoomTally], isAwaited: (RoomID) -> Bool = { _ in false }
    ) -> [RoomID] {
        var shard = shards[told.shard] ?? Shard()
        shard.silence = 0
        var suspects: [RoomID: UInt64] = [:]
        var due: [RoomID] = []
        func look(_ room: RoomID, _ theirs: RoomTally, _ ours: RoomTally) {
            guard !isAwaited(room) else { return }
            let differs = theirs.sessions != ours.sessions || theirs.sum != ours.sum || theirs.isWaiting
            guard differs || ours.seq != theirs.seq else { return }
            suspects[room] = theirs.seq
            guard let before = shard.suspects[room] else { return }
            // A message of a second ago would have come.
            guard differs || ours.seq < before || ours.seq > theirs.seq else { return }
            if let repair = shard.repairs[room], repair.notBefore > seconds { return }
            let count = (shard.repairs[room]?.count ?? 0) + 1
            let pause = min(Self.pauseMax, Self.pauseFirst << min(count - 1, 16))
            shard.repairs[room] = (count, seconds + pause)
            due.append(room)
        }
        var rest = own
        for theirs in told.rooms {
            look(theirs.room, theirs, rest.removeValue(forKey: theirs.room) ?? RoomTally(room: theirs.room))
        }
        if told.isWhole {
            for (room, ours) in rest { look(room, RoomTally(room: room), ours) }
        }
        if told.part == shard.part {
            // The same once more where something differs that did not before; else the next. A leader that has more
            // than the lane itself knows of is asked for less at once.
            if !told.isWhole, told.part.count < RoomPart.countMax {
                shard.part = RoomPart(0, of: told.part.count * 2)
            } else if suspects.keys.allSatisfy({ shard.suspects[$0] != nil }) {
                shard.part = told.part.next
            }
        }
        shard.suspects = shard.suspects.filter { !told.part.contains($0.key) }
        shard.suspects.merge(suspects) { $1 }
        shards[told.shard] = shard
        return due.sorted()
    }

    /// A second has passed in which this lane ran.
    /// - Parameter watched: the shards with a leader that the lane has sessions in. Silence about other shards means
    ///   nothing; the word of their leaders counts all the same, since they may believe that the lane has sessions
    ///   there.
    public mutating func tick(_ watched: some Sequence<ShardID>) -> [Finding] {
        seconds += 1
        var silent = Set(shards.keys)
        var findings: [Finding] = []
        for id in watched {
            silent.remove(id)
            var shard = shards[id] ?? Shard()
            shard.silence += 1
            if shard.silence >= Self.patienceMax {
                findings.append(.drop(id))
                shard.silence = 0
            } else if shard.silence >= Self.silenceMax {
                findings.append(.ask(id))
            }
            shards[id] = shard
        }
        for id in silent { shards[id]?.silence = 0 }
        return findings
    }
}
