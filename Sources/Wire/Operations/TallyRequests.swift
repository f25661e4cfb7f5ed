import ChatModel

/// `tally`: taps on one tally of a room (PROTOCOL.md, "Tallies").
public struct TapRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var key: String
    /// Counts as so many taps.
    public var delta: Int64
    /// Makes it an ordinary durable operation (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: TapRequest { TapRequest(room: .blank, key: "") }

    public init(room: RoomID, key: String, delta: Int64 = 1, clientID: String? = nil) {
        self.room = room
        self.key = key
        self.delta = delta
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "key", &key, .nonEmptyBytes(Limits.tallyKeyBytes))
        try walker.defaulted(3, "delta", &delta, default: 1, .integers(1, Limits.tallyDelta))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        if W.isDecoding, walker.enforcesLimits, !Tally.isKey(key) { throw .notTallyKey }
    }
}

/// The reply to a `tally` that has a request ID.
public struct TapResult: WireMessage, Hashable {
    /// On disk.
    public var total: Int64

    public static var blank: TapResult { TapResult(total: 0) }

    public init(total: Int64) { self.total = total }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "total", &total)
    }
}
