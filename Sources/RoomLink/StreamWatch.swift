import ChatModel

/// What a lane makes of what leaders say once a second of the shards that its sessions are in (`ShardPulse`): whom it
/// asks for more, which rooms it is to announce and follow anew, and which connection is of no use. Pure.
///
/// What differs once may be under way: a session that is just leaving, a message that the viewer budget has left out and
/// that is told a second later. So the second pulse in a row that differs makes it ask room by room, and what differs in
/// two of the answers in a row is put right: three seconds after it went wrong. A shard of whose leader nothing is heard
/// for three seconds is asked for in the same way, and after five more the connection is ended: later than the link itself
/// would end it for being silent.
public struct StreamWatch: Sendable {
    /// Pulses in a row that differ, before the lane asks.
    public static let pulsesMax = 2
    /// Seconds of silence before the lane asks.
    public static let silenceMax = 3
    /// And before it ends the connection.
    public static let patienceMax = 8
    /// Seconds between two repairs of a room, at first; then twice as many each time, up to `pauseMax`.
    public static let pauseFirst: UInt64 = 4
    public static let pauseMax: UInt64 = 64

    /// What silence demands.
    public enum Finding: Sendable, Hashable {
        /// The leader is to tell room by room.
        case ask(ShardID)
        /// The connection to the shard's leader is of no use.
        case drop(ShardID)
    }

    private struct Shard {
        var silence = 0
        var differing = 0
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
    /// - Parameter agrees: whether it says what the lane has.
    /// - Returns: whether the leader is to be asked room by room.
    public mutating func pulse(of shard: ShardID, agrees: Bool) -> Bool {
        guard !agrees else {
            if shards[shard] != nil { shards[shard] = Shard() }
            return false
        }
        shards[shard, default: Shard()].silence = 0
        let differing = (shards[shard]?.differing ?? 0) + 1
        shards[shard]?.differing = differing
        return differing >= Self.pulsesMax
    }

    /// Which rooms are to be announced and followed anew.
    ///
    /// - Parameters:
    ///   - told: what the leader says.
    ///   - own: what the lane has, of every room of the shard that it has sessions in.
    public mutating func repairs(told: ShardTallies, own: [RoomID: RoomTally]) -> [RoomID] {
        var shard = shards[told.shard] ?? Shard()
        shard.silence = 0
        var suspects: [RoomID: UInt64] = [:]
        var due: [RoomID] = []
        func look(_ room: RoomID, _ theirs: RoomTally, _ ours: RoomTally) {
            let differs = theirs.sessions != ours.sessions || theirs.sum != ours.sum || theirs.isWaiting
            guard differs || ours.seq != theirs.seq else { return }
            suspects[room] = theirs.seq
            guard let before = shard.suspects[room] else { return }
            // What was said a second ago would have come.
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
        shard.suspects = suspects
        shards[told.shard] = shard
        return due.sorted()
    }

    /// A second has passed in which this lane ran.
    /// - Parameter watched: the shards with a leader that the lane has sessions in.
    public mutating func tick(_ watched: some Sequence<ShardID>) -> [Finding] {
        seconds += 1
        var kept: [ShardID: Shard] = [:]
        var findings: [Finding] = []
        for id in watched {
            var shard = shards[id] ?? Shard()
            shard.silence += 1
            if shard.silence >= Self.patienceMax {
                findings.append(.drop(id))
                shard.silence = 0
            } else if shard.silence >= Self.silenceMax {
                findings.append(.ask(id))
            }
            kept[id] = shard
        }
        shards = kept
        return findings
    }
}
