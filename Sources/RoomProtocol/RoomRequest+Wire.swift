import ChatModel
import Wire

extension ClientEncoding {
    /// On the wire.
    var number: UInt32 {
        switch self {
        case .json: 1
        case .protobuf: 2
        }
    }

    init(wired number: UInt32) throws(ChatError) {
        guard let known = Self.allCases.first(where: { $0.number == number }) else {
            throw ChatError(.badParameter, "there is no encoding \(number)")
        }
        self = known
    }
}

/// A request as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredRequest: WireMessage {
    private var room: RoomID
    private var origin: RoomRequest.Origin
    private var body: RoomRequest.Body

    init(_ request: RoomRequest) { (room, origin, body) = (request.room, request.origin, request.body) }

    var request: RoomRequest { RoomRequest(room: room, from: origin, body) }

    static var blank: WiredRequest {
        WiredRequest(RoomRequest(room: .blank, from: .server(WiredServerOrigin.blank.origin), .leave))
    }
    static var schemaName: String { "RoomRequest" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walkOrigin(&walker)
        try walkBody(&walker)
    }

    private mutating func walkOrigin<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = origin
        var read: RoomRequest.Origin?
        try walker.choice(
            2, "session", { if case .session(let origin) = current { WiredSessionOrigin(origin) } else { nil } },
            { read = .session($0.origin) })
        try walker.choice(
            3, "server", { if case .server(let origin) = current { WiredServerOrigin(origin: origin) } else { nil } },
            { read = .server($0.origin) })
        guard W.isDecoding else { return }
        guard let read else { throw ChatError(.badParameter, "a request of nobody") }
        origin = read
    }

    private mutating func walkBody<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = body
        var read: RoomRequest.Body?
        let isOperation = try walker.choice(
            20, "operation",
            { if case .operation(let operation) = current { OperationMessage(operation) } else { nil } },
            { read = .operation($0.operation) })
        // One is there, and nearly all are operations: they do not pay for the others.
        if isOperation, !W.describesSchema {
            if W.isDecoding, let read { body = read }
            return
        }
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
        try walker.choice(
            27, "serverOperation",
            { if case .server(let operation) = current { WiredServerOperation(operation: operation) } else { nil } },
            { it in read = it.operation.map { .server($0) } })
        try walker.choice(
            28, "taps", { if case .taps(let batch) = current { batch } else { nil } }, { read = .taps($0) })
        guard W.isDecoding else { return }
        guard let read else { throw ChatError(.badParameter, "a request for nothing") }
        body = read
    }
}

private struct WiredSessionOrigin: WireMessage {
    var origin: SessionOrigin

    init(_ origin: SessionOrigin) { self.origin = origin }

    static var blank: WiredSessionOrigin {
        WiredSessionOrigin(
            SessionOrigin(
                SessionAddress(node: .blank, lane: 0, session: .blank, encoding: .json),
                Caller(user: .blank, anonymous: false)))
    }
    static var schemaName: String { "SessionOrigin" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walkAddress(&walker)
        try walkCaller(&walker)
        try walker.optional(12, "request", &origin.request)
        try walker.shown(13, "number", &origin.number)
        try walker.repeated(14, "rooms", &origin.rooms)
        try walker.optional(15, "overRateMs", &origin.overRateMs)
        try walker.optional(16, "revivedAt", &origin.caller.revivedAt)
        try walker.optional(17, "refusal", &origin.refusal)
    }

    private mutating func walkAddress<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: origin.address.lane)
        var encoding = origin.address.encoding.number
        try walker.required(1, "node", &origin.address.node)
        try walker.shown(2, "lane", &lane)
        try walker.required(3, "session", &origin.address.session)
        try walker.required(4, "encoding", &encoding)
        guard W.isDecoding else { return }
        (origin.address.lane, origin.address.encoding) = (Int(lane), try ClientEncoding(wired: encoding))
    }

    private mutating func walkCaller<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        // An empty list lets in nowhere, none everywhere.
        var isConfined = origin.caller.rooms != nil
        var rooms = origin.caller.rooms ?? []
        var profile: Profile? = origin.caller.tokenProfile == Profile() ? nil : origin.caller.tokenProfile
        try walker.required(5, "user", &origin.caller.user)
        try walker.shown(6, "anonymous", &origin.caller.anonymous)
        try walker.required(7, "device", &origin.caller.device)
        try walker.shown(8, "confined", &isConfined)
        try walker.repeated(9, "tokenRooms", &rooms)
        try walker.optional(10, "tokenProfile", &profile)
        try walker.optional(11, "addressHash", &origin.caller.addressHash)
        guard W.isDecoding else { return }
        origin.caller.rooms = isConfined ? rooms : nil
        origin.caller.tokenProfile = profile ?? Profile()
    }
}

private struct WiredServerOrigin: WireMessage {
    var origin: ServerOrigin

    static var blank: WiredServerOrigin { WiredServerOrigin(origin: ServerOrigin(node: .blank, lane: 0, request: 0)) }
    static var schemaName: String { "ServerOrigin" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: origin.lane)
        try walker.required(1, "node", &origin.node)
        try walker.shown(2, "lane", &lane)
        try walker.shown(3, "request", &origin.request)
        if W.isDecoding { origin.lane = Int(lane) }
    }
}

private struct WiredMove: WireMessage {
    var from: NodeID?

    static var blank: WiredMove { WiredMove(from: nil) }
    static var schemaName: String { "Move" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.optional(1, "from", &from) }
}

struct WiredStay: WireMessage {
    var stay: SessionStay

    init(_ stay: SessionStay) { self.stay = stay }

    static var blank: WiredStay { WiredStay(SessionStay(profile: Profile(), enteredAt: .blank)) }
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
        try walker.shown(3, "untaken", &place.untaken)
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
