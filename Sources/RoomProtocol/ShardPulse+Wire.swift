import ChatModel
import Wire

// As these travel. Numbers are on the wire: they are never changed or used again.

struct WiredPulse: WireMessage {
    var pulse: ShardPulse

    init(_ pulse: ShardPulse) { self.pulse = pulse }

    static var blank: WiredPulse { WiredPulse(ShardPulse(shard: ShardID(0), term: 0, lanes: [])) }
    static var schemaName: String { "ShardPulse" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = UInt32(pulse.shard.number)
        var lanes = pulse.lanes.map(WiredLaneTally.init)
        try walker.shown(1, "shard", &number)
        try walker.shown(2, "term", &pulse.term)
        try walker.repeated(3, "lanes", &lanes)
        guard W.isDecoding else { return }
        pulse.shard = try ShardID(wired: number)
        pulse.lanes = lanes.map(\.tally)
    }
}

private struct WiredLaneTally: WireMessage {
    var tally: LaneTally

    init(_ tally: LaneTally) { self.tally = tally }

    static var blank: WiredLaneTally { WiredLaneTally(LaneTally(lane: 0)) }
    static var schemaName: String { "LaneTally" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: tally.lane)
        try walker.shown(1, "lane", &lane)
        try walker.shown(2, "rooms", &tally.rooms)
        try walker.shown(3, "digest", &tally.digest)
        if W.isDecoding { tally.lane = Int(lane) }
    }
}

private struct WiredRoomTally: WireMessage {
    var tally: RoomTally

    init(_ tally: RoomTally) { self.tally = tally }

    static var blank: WiredRoomTally { WiredRoomTally(RoomTally(room: .blank)) }
    static var schemaName: String { "RoomTally" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &tally.room)
        try walker.shown(2, "sessions", &tally.sessions)
        try walker.shown(3, "sum", &tally.sum)
        try walker.shown(4, "seq", &tally.seq)
        try walker.shown(5, "waiting", &tally.isWaiting)
    }
}

/// Its shard is written even where it is 0: a message without bytes is none.
struct WiredTallyRequest: WireMessage {
    var request: TallyRequest

    init(_ request: TallyRequest) { self.request = request }

    static var blank: WiredTallyRequest { WiredTallyRequest(TallyRequest(shard: ShardID(0), lane: 0)) }
    static var schemaName: String { "TallyRequest" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (number, lane) = (UInt32(request.shard.number), UInt32(clamping: request.lane))
        try walker.required(1, "shard", &number)
        try walker.shown(2, "lane", &lane)
        var part = WiredPart(request.part)
        try part.walk(3, &walker)
        if W.isDecoding { request = TallyRequest(shard: try ShardID(wired: number), lane: Int(lane), part: part.part) }
    }
}

struct WiredTallies: WireMessage {
    var tallies: ShardTallies

    init(_ tallies: ShardTallies) { self.tallies = tallies }

    static var blank: WiredTallies { WiredTallies(ShardTallies(shard: ShardID(0), lane: 0, term: nil)) }
    static var schemaName: String { "ShardTallies" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (number, lane) = (UInt32(tallies.shard.number), UInt32(clamping: tallies.lane))
        var rooms = tallies.rooms.map(WiredRoomTally.init)
        // An absent field is false.
        var isCut = !tallies.isWhole
        try walker.required(1, "shard", &number)
        try walker.shown(2, "lane", &lane)
        try walker.optional(3, "term", &tallies.term)
        try walker.repeated(4, "rooms", &rooms)
        try walker.shown(5, "cut", &isCut)
        var part = WiredPart(tallies.part)
        try part.walk(6, &walker)
        guard W.isDecoding else { return }
        tallies.part = part.part
        (tallies.shard, tallies.lane) = (try ShardID(wired: number), Int(lane))
        (tallies.rooms, tallies.isWhole) = (rooms.map(\.tally), !isCut)
    }
}

/// Two fields of whatever it belongs to; without them it is the whole.
private struct WiredPart {
    var (number, count): (UInt32, UInt32)

    init(_ part: RoomPart) { (number, count) = (part.number, part.count) }

    var part: RoomPart { RoomPart(number, of: count) }

    mutating func walk<W: FieldWalker>(_ first: Int, _ walker: inout W) throws(ChatError) {
        try walker.defaulted(first, "part", &number, default: 0)
        try walker.defaulted(first + 1, "parts", &count, default: 1)
    }
}

struct WiredRecount: WireMessage {
    var recount: LaneRecount

    init(_ recount: LaneRecount) { self.recount = recount }

    static var blank: WiredRecount { WiredRecount(LaneRecount(lane: 0, rooms: [])) }
    static var schemaName: String { "LaneRecount" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: recount.lane)
        try walker.shown(1, "lane", &lane)
        try walker.repeated(2, "rooms", &recount.rooms)
        if W.isDecoding { recount.lane = Int(lane) }
    }
}
