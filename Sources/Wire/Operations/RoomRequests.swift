import ChatModel

/// `enter`: into a room, anew or with what was received before.
public struct EnterRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var nick: String?
    public var avatar: String?
    public var ext: String?
    /// Goes into the enter notification.
    public var notifyExt: String?
    /// The last seq that the client has; with `epoch`.
    public var since: UInt64?
    /// The life of the room that `since` counts in.
    public var epoch: String?
    /// Asks for the queue in the reply.
    public var withQueue = false
    /// Asks for so many of the newest messages, where `since` is absent or can't be recovered; 0 for none.
    public var history: Int64 = 0
    /// Asks for the tallies in the reply.
    public var withTallies = false

    public static var blank: EnterRequest { EnterRequest(room: .blank) }

    var contentBytes: Int { bytes(nick, avatar, ext, notifyExt) }

    public init(
        room: RoomID, nick: String? = nil, avatar: String? = nil, ext: String? = nil, notifyExt: String? = nil,
        since: UInt64? = nil, epoch: String? = nil, withQueue: Bool = false, history: Int64 = 0,
        withTallies: Bool = false
    ) {
        self.room = room
        self.nick = nick
        self.avatar = avatar
        self.ext = ext
        self.notifyExt = notifyExt
        self.since = since
        self.epoch = epoch
        self.withQueue = withQueue
        self.history = history
        self.withTallies = withTallies
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "nick", &nick, .bytes(Limits.nickBytes))
        try walker.optional(3, "avatar", &avatar, .bytes(Limits.urlBytes))
        try walker.optional(4, "ext", &ext, .bytes(Limits.extBytes))
        try walker.optional(5, "notifyExt", &notifyExt, .bytes(Limits.notifyExtBytes))
        try walker.optional(6, "since", &since)
        try walker.optional(7, "epoch", &epoch, .bytes(Limits.opaqueIDBytes))
        try walker.defaulted(8, "withQueue", &withQueue, default: false)
        try walker.defaulted(9, "history", &history, default: 0, .integers(0, Int64(Limits.missedMessages)))
        try walker.defaulted(10, "withTallies", &withTallies, default: false)
        if W.isDecoding, since != nil, epoch == nil { throw .missing("epoch") }
    }
}

/// An operation on a whole room: `exit` and `room`.
public struct RoomNameRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID

    public static var blank: RoomNameRequest { RoomNameRequest(room: .blank) }
    /// In the published schema.
    public static var schemaName: String { "RoomRequest" }

    public init(room: RoomID) { self.room = room }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
    }
}

/// `updateRoom`: a manager changes the room's settings.
public struct UpdateRoomRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// Only what clients may set is sent; what is for the server API (see `RoomChanges`) is not.
    public var set: RoomChanges
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: UpdateRoomRequest { UpdateRoomRequest(room: .blank, set: RoomChanges()) }

    var contentBytes: Int { bytes(set.name, set.announcement, set.ext, set.broadcastUrl, options.notifyExt) }

    public init(room: RoomID, set: RoomChanges, options: NotifyOptions = NotifyOptions(), clientID: String? = nil) {
        self.room = room
        self.set = set
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        var settings = RoomSettings(changes: set)
        try walker.required(2, "set", &settings)
        if W.isDecoding { set = settings.changes }
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `muteRoom`: only creator and managers may send.
public struct MuteRoomRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var enable: Bool
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: MuteRoomRequest { MuteRoomRequest(room: .blank, enable: false) }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(room: RoomID, enable: Bool, options: NotifyOptions = NotifyOptions(), clientID: String? = nil) {
        self.room = room
        self.enable = enable
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "enable", &enable)
        try walker.optional(31, "notifyExt", &options.notifyExt, .bytes(Limits.notifyExtBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// A change of a room that says nothing but that it is to be made: `queueClear`.
public struct RoomChangeRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: RoomChangeRequest { RoomChangeRequest(room: .blank) }
    /// In the published schema.
    public static var schemaName: String { "QueueClearRequest" }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(room: RoomID, options: NotifyOptions = NotifyOptions(), clientID: String? = nil) {
        self.room = room
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}
