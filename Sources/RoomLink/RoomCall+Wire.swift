import ChatModel
import Wire

extension ClientEncoding {
    /// On the wire.
    fileprivate var number: UInt32 {
        switch self {
        case .json: 1
        case .protobuf: 2
        }
    }

    fileprivate init?(number: UInt32) {
        guard let known = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = known
    }
}

/// A call as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredCall: WireMessage {
    var call: RoomCall

    init(_ call: RoomCall) { self.call = call }

    static var blank: WiredCall {
        let address = SessionAddress(node: .blank, lane: 0, session: .blank, encoding: .json)
        return WiredCall(
            RoomCall(
                room: .blank, address: address, caller: Caller(user: .blank, anonymous: false), request: nil,
                body: .leave))
    }
    static var schemaName: String { "RoomCall" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &call.room)
        try walkAddress(&walker)
        try walkCaller(&walker)
        try walker.optional(14, "request", &call.request)
        try walker.shown(15, "number", &call.number)
        try walker.repeated(16, "rooms", &call.rooms)
        try walker.optional(17, "overRateMs", &call.overRateMs)
        // A field of the caller; fields are walked in the order of their numbers.
        try walker.optional(18, "addressHash", &call.caller.addressHash)
        try walkBody(&walker)
    }

    private mutating func walkAddress<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: call.address.lane)
        var encoding = call.address.encoding.number
        try walker.required(2, "node", &call.address.node)
        try walker.shown(3, "lane", &lane)
        try walker.required(4, "session", &call.address.session)
        try walker.required(5, "encoding", &encoding)
        guard W.isDecoding else { return }
        guard let known = ClientEncoding(number: encoding) else {
            throw ChatError(.badParameter, "there is no encoding \(encoding)")
        }
        (call.address.lane, call.address.encoding) = (Int(lane), known)
    }

    private mutating func walkCaller<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        // An empty list lets in nowhere, none everywhere.
        var isConfined = call.caller.rooms != nil
        var rooms = call.caller.rooms ?? []
        var profile: Profile? = call.caller.tokenProfile == Profile() ? nil : call.caller.tokenProfile
        try walker.required(6, "user", &call.caller.user)
        try walker.shown(7, "anonymous", &call.caller.anonymous)
        try walker.required(8, "device", &call.caller.device)
        try walker.shown(9, "confined", &isConfined)
        try walker.repeated(10, "tokenRooms", &rooms)
        try walker.optional(11, "tokenProfile", &profile)
        guard W.isDecoding else { return }
        call.caller.rooms = isConfined ? rooms : nil
        call.caller.tokenProfile = profile ?? Profile()
    }

    private mutating func walkBody<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = call.body
        var read: RoomCall.Body?
        try walker.choice(
            20, "operation",
            { if case .operation(let operation) = current { OperationMessage(operation) } else { nil } },
            { read = .operation($0.operation) })
        try walker.choice(
            21, "leave", { if case .leave = current { Empty() } else { nil } }, { (_: Empty) in read = .leave })
        try walker.choice(
            22, "away", { if case .away = current { Empty() } else { nil } }, { (_: Empty) in read = .away })
        try walker.choice(
            23, "moved", { if case .moved(let former) = current { WiredMove(from: former) } else { nil } },
            { read = .moved(from: $0.from) })
        try walker.choice(
            24, "announce", { if case .announce(let stay) = current { WiredStay(stay) } else { nil } },
            { read = .announce($0.stay) })
        try walker.choice(
            25, "follow", { if case .follow(let place) = current { WiredPlace(place) } else { nil } },
            { read = .follow($0.place) })
        try walker.choice(
            26, "barrages", { if case .barrages(let batch) = current { WiredBatch(batch) } else { nil } },
            { read = .barrages($0.batch) })
        guard W.isDecoding else { return }
        guard let read else { throw ChatError(.badParameter, "a call that says nothing") }
        call.body = read
    }
}

private struct WiredMove: WireMessage {
    var from: NodeID?

    static var blank: WiredMove { WiredMove(from: nil) }
    static var schemaName: String { "Move" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.optional(1, "from", &from) }
}

struct WiredStay: WireMessage {
    var stay: Stay

    init(_ stay: Stay) { self.stay = stay }

    static var blank: WiredStay { WiredStay(Stay(profile: Profile(), enteredAt: .blank)) }
    static var schemaName: String { "Stay" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "profile", &stay.profile)
        try walker.shown(2, "enteredAt", &stay.enteredAt)
        try walker.optional(3, "notifyExt", &stay.notifyExt)
        try walker.shown(4, "away", &stay.isAway)
    }
}

private struct WiredPlace: WireMessage {
    var place: StreamPlace

    init(_ place: StreamPlace) { self.place = place }

    static var blank: WiredPlace { WiredPlace(StreamPlace(epoch: "", seq: 0)) }
    static var schemaName: String { "StreamPlace" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "epoch", &place.epoch)
        try walker.shown(2, "seq", &place.seq)
    }
}

/// A notice as it travels.
struct WiredNotice: WireMessage {
    var notice: ShardNotice

    init(_ notice: ShardNotice) { self.notice = notice }

    static var blank: WiredNotice { WiredNotice(ShardNotice(shard: ShardID(0), term: 0)) }
    static var schemaName: String { "ShardNotice" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = UInt32(notice.shard.number)
        try walker.shown(1, "shard", &number)
        try walker.shown(2, "term", &notice.term)
        if W.isDecoding { notice.shard = try ShardID(wired: number) }
    }
}

extension ShardID {
    init(wired number: UInt32) throws(ChatError) {
        guard let exact = UInt16(exactly: number) else {
            throw ChatError(.badParameter, "there is no shard \(number)")
        }
        self.init(exact)
    }
}
