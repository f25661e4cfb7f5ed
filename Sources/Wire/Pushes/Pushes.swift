import ChatModel

/// Barrage of one room.
public struct BarragePush: WireMessage, Hashable {
    public var room: RoomID
    public var items: [BarrageItem]

    public static var blank: BarragePush { BarragePush(room: .blank, items: []) }

    public init(room: RoomID, items: [BarrageItem]) {
        self.room = room
        self.items = items
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.list(2, "items", &items)
    }
}

/// The session is out of a room.
public struct KickedPush: WireMessage, Hashable {
    public var room: RoomID
    public var reason: KickReason
    /// The `notifyExt` of the cause.
    public var ext: String?

    public static var blank: KickedPush { KickedPush(room: .blank, reason: .blank) }

    public init(room: RoomID, reason: KickReason, ext: String? = nil) {
        self.room = room
        self.reason = reason
        self.ext = ext
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "reason", &reason)
        try walker.optional(3, "ext", &ext)
    }
}

/// Those of these seqs that this session did not receive are only in history.
public struct GapPush: WireMessage, Hashable {
    public var room: RoomID
    public var ranges: [SeqRange]
    public var cause: GapCause

    public static var blank: GapPush { GapPush(room: .blank, ranges: [], cause: .blank) }

    public init(room: RoomID, ranges: [SeqRange], cause: GapCause) {
        self.room = room
        self.ranges = ranges
        self.cause = cause
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.list(2, "ranges", &ranges)
        try walker.required(3, "cause", &cause)
    }
}

/// How much this viewer was spared since the last such push.
public struct SkippedPush: WireMessage, Hashable {
    public var room: RoomID
    public var barrage: Int64 = 0
    public var unkept: Int64 = 0

    public static var blank: SkippedPush { SkippedPush(room: .blank) }

    public init(room: RoomID, barrage: Int64 = 0, unkept: Int64 = 0) {
        self.room = room
        self.barrage = barrage
        self.unkept = unkept
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.shown(2, "barrage", &barrage)
        try walker.shown(3, "unkept", &unkept)
    }
}

/// How many are in the room.
public struct OnlinePush: WireMessage, Hashable {
    public var room: RoomID
    public var online: Int64

    public static var blank: OnlinePush { OnlinePush(room: .blank, online: 0) }

    public init(room: RoomID, online: Int64) {
        self.room = room
        self.online = online
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.shown(2, "online", &online)
    }
}

/// The room's owner is away, is back, or will not come back.
public struct StatePush: WireMessage, Hashable {
    public var room: RoomID
    public var state: RoomStatus
    /// With FAILED: why.
    public var error: ChatError?

    public static var blank: StatePush { StatePush(room: .blank, state: .blank) }

    public init(room: RoomID, state: RoomStatus, error: ChatError? = nil) {
        self.room = room
        self.state = state
        self.error = error
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "state", &state)
        try walker.optional(3, "error", &error)
    }
}

/// The token ends soon.
public struct TokenPush: WireMessage, Hashable {
    public var expiresInSeconds: Int64

    public static var blank: TokenPush { TokenPush(expiresInSeconds: 0) }

    public init(expiresInSeconds: Int64) { self.expiresInSeconds = expiresInSeconds }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "expiresInSeconds", &expiresInSeconds)
    }
}

/// The node is draining or full: connect again after a random wait in the window (PROTOCOL.md, "Moving").
public struct ReconnectPush: WireMessage, Hashable {
    public var minMs: Int64
    public var maxMs: Int64
    public var cause: ReconnectCause?
    /// URLs, best first.
    public var gateways: [String] = []

    public static var blank: ReconnectPush { ReconnectPush(minMs: 0, maxMs: 0) }

    public init(minMs: Int64, maxMs: Int64, cause: ReconnectCause? = nil, gateways: [String] = []) {
        self.minMs = minMs
        self.maxMs = maxMs
        self.cause = cause
        self.gateways = gateways
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "minMs", &minMs)
        try walker.shown(2, "maxMs", &maxMs)
        try walker.list(3, "gateways", &gateways)
        try walker.optional(4, "cause", &cause)
    }
}

/// Why a client is to connect elsewhere.
public enum ReconnectCause: String, WireEnum, Hashable {
    /// The node stops, and serves on until the client has another connection.
    case drain = "DRAIN"
    /// The node closes the connection at once.
    case full = "FULL"

    public static var blank: ReconnectCause { .full }
    public var number: Int {
        switch self {
        case .drain: 1
        case .full: 2
        }
    }

    /// Only clients read causes. With a cause of a later version the node may close at once.
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> ReconnectCause {
        ReconnectCause(exactly: try value.string()) ?? .full
    }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> ReconnectCause {
        try value.varint() == UInt64(ReconnectCause.drain.number) ? .drain : .full
    }
}

/// Totals of a room that have changed; all are on disk.
public struct TalliesPush: WireMessage, Hashable {
    public var room: RoomID
    /// By the tally's key.
    public var totals: [TallyCount]

    public static var blank: TalliesPush { TalliesPush(room: .blank, totals: []) }

    public init(room: RoomID, totals: [TallyCount]) {
        self.room = room
        self.totals = totals
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.counts(2, "totals", &totals)
    }
}

/// A message waits for managers.
public struct HeldPush: WireMessage, Hashable {
    public var room: RoomID
    /// Without a place in the room's order; its ID is the `heldId`.
    public var message: Message

    public static var blank: HeldPush { HeldPush(room: .blank, message: .blank) }

    public init(room: RoomID, message: Message) {
        self.room = room
        self.message = message
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "message", &message)
    }
}

/// A held message was not let through.
public struct DeniedPush: WireMessage, Hashable {
    public var room: RoomID
    public var heldID: String
    /// The ID of its send.
    public var clientID: String?
    /// As the manager has given it, or a word of PROTOCOL.md, "Held messages".
    public var reason: String?

    public static var blank: DeniedPush { DeniedPush(room: .blank, heldID: "") }

    public init(room: RoomID, heldID: String, clientID: String? = nil, reason: String? = nil) {
        self.room = room
        self.heldID = heldID
        self.clientID = clientID
        self.reason = reason
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "heldId", &heldID)
        try walker.optional(3, "clientId", &clientID)
        try walker.optional(4, "reason", &reason)
    }
}
