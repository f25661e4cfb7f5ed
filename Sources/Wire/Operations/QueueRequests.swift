import ChatModel

/// `queue`: a page of the queue, in order.
public struct QueueRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    /// The cursor `next` of the page before.
    public var after: String?
    /// 1 to 100.
    public var limit = Limits.pageItems

    public static var blank: QueueRequest { QueueRequest(room: .blank) }

    public init(room: RoomID, after: String? = nil, limit: Int64 = Limits.pageItems) {
        self.room = room
        self.after = after
        self.limit = limit
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "after", &after, .bytes(Limits.opaqueIDBytes))
        try walker.defaulted(3, "limit", &limit, default: Limits.pageItems, .integers(1, Limits.pageItems))
    }
}

/// `queueSet`: adds or overwrites an element.
public struct QueueSetRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// 1 to 32 bytes.
    public var key: String
    public var value: String
    /// The element goes when its owner has gone.
    public var transient = false
    /// 409 unless the element has that version; 0: unless there is none.
    public var ifVersion: Int64?
    /// Managers only: the owner that it is to have, somebody who is here; nil: the caller.
    public var owner: UserID?
    /// Managers only: an overwritten element keeps its owner.
    public var keepOwner = false
    /// Managers only: true lets nobody else change it, false does; nil leaves the lock as it is.
    public var locked: Bool?
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: QueueSetRequest { QueueSetRequest(room: .blank, key: "", value: "") }

    var contentBytes: Int { bytes(key, value, options.notifyExt) }

    public init(
        room: RoomID, key: String, value: String, transient: Bool = false, ifVersion: Int64? = nil,
        options: NotifyOptions = NotifyOptions(), clientID: String? = nil
    ) {
        self.room = room
        self.key = key
        self.value = value
        self.transient = transient
        self.ifVersion = ifVersion
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "key", &key, .nonEmptyBytes(Limits.queueKeyBytes))
        try walker.required(3, "value", &value, .bytes(Limits.queueValueBytes))
        try walker.defaulted(4, "transient", &transient, default: false)
        try walker.optional(5, "ifVersion", &ifVersion, .integers(0, .max))
        try walker.optional(6, "owner", &owner)
        try walker.defaulted(7, "keepOwner", &keepOwner, default: false)
        try walker.optional(8, "locked", &locked)
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

extension QueueSetRequest {
    var write: QueueWrite {
        var write = QueueWrite(key: key, value: value, owner: owner, transient: transient, ifVersion: ifVersion)
        (write.keepOwner, write.locked) = (keepOwner, locked)
        return write
    }
}

/// `queueSetMany`: new values for elements that are there.
public struct QueueSetManyRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// At most 100, each key once.
    public var values: [QueuePair]
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: QueueSetManyRequest { QueueSetManyRequest(room: .blank, values: []) }

    var contentBytes: Int { values.reduce(bytes(options.notifyExt)) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

    public init(room: RoomID, values: [QueuePair], options: NotifyOptions = NotifyOptions(), clientID: String? = nil) {
        self.room = room
        self.values = values
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.map(
            2, "values", &values, itemsMax: Limits.queueBatchItems, keyBytes: Limits.queueBatchKeyBytes,
            valueBytes: Limits.queueValueBytes)
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `queueTake`: removes an element and returns it.
public struct QueueTakeRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// nil takes the head.
    public var key: String?
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: QueueTakeRequest { QueueTakeRequest(room: .blank) }

    var contentBytes: Int { bytes(key, options.notifyExt) }

    public init(room: RoomID, key: String? = nil, options: NotifyOptions = NotifyOptions(), clientID: String? = nil) {
        self.room = room
        self.key = key
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "key", &key, .nonEmptyBytes(Limits.queueBatchKeyBytes))
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}
