import ChatModel

/// Body of PUT …/members/{user}/role.
public struct RoleBody: WireMessage, Hashable {
    public var role: FixedRole
    public var options = ServerOptions()

    public static var blank: RoleBody { RoleBody(role: .blank) }

    public init(role: FixedRole) { self.role = role }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "role", &role)
        try options.walk(&walker)
    }
}

/// Body of PUT …/blacklist, …/mute and /v1/rooms/{room}/mute, and of POST …/messages/{messageId}/pin.
public struct EnableBody: WireMessage, Hashable {
    public var enable: Bool
    public var options = ServerOptions()

    public static var blank: EnableBody { EnableBody(enable: false) }

    public init(enable: Bool) { self.enable = enable }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "enable", &enable)
        try options.walk(&walker)
    }
}

/// Body of PUT …/tempMute.
public struct TempMuteBody: WireMessage, Hashable {
    /// 0 lifts; at most 30 days.
    public var seconds: Int64
    public var options = ServerOptions()

    public static var blank: TempMuteBody { TempMuteBody(seconds: 0) }

    public init(seconds: Int64) { self.seconds = seconds }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "seconds", &seconds, .integers(0, Limits.banSeconds))
        try options.walk(&walker)
    }
}

/// Body of POST …/members/{user}/kick.
public struct KickBody: WireMessage, Hashable {
    /// At most 30 days.
    public var banSeconds: Int64?
    public var options = ServerOptions()

    public static var blank: KickBody { KickBody() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "banSeconds", &banSeconds, .integers(0, Limits.banSeconds))
        try options.walk(&walker)
    }
}

/// Body of PUT …/queue/{key}.
public struct QueueSetBody: WireMessage, Hashable {
    public var value: String
    /// nil: the operator.
    public var owner: UserID?
    public var transient = false
    /// 409 unless the element has that version; 0: unless there is none.
    public var ifVersion: Int64?
    /// An overwritten element keeps its owner.
    public var keepOwner = false
    /// Only managers of the room change it; nil leaves the lock as it is.
    public var locked: Bool?
    public var options = ServerOptions()

    public static var blank: QueueSetBody { QueueSetBody(value: "") }

    public init(value: String) { self.value = value }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "value", &value, .bytes(Limits.queueValueBytes))
        try walker.optional(2, "owner", &owner)
        try walker.defaulted(3, "transient", &transient, default: false)
        try walker.optional(4, "ifVersion", &ifVersion, .integers(0, .max))
        try walker.defaulted(5, "keepOwner", &keepOwner, default: false)
        try walker.optional(6, "locked", &locked)
        try options.walk(&walker)
    }
}

/// Body of PATCH …/queue.
public struct QueueSetManyBody: WireMessage, Hashable {
    public var values: [QueuePair]
    public var options = ServerOptions()

    public static var blank: QueueSetManyBody { QueueSetManyBody(values: []) }

    public init(values: [QueuePair]) { self.values = values }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.map(
            1, "values", &values, itemsMax: Limits.queueBatchItems, keyBytes: Limits.queueBatchKeyBytes,
            valueBytes: Limits.queueValueBytes)
        try options.walk(&walker)
    }
}

/// Body of POST …/queue/take.
public struct QueueTakeBody: WireMessage, Hashable {
    /// nil takes the head.
    public var key: String?
    public var options = ServerOptions()

    public static var blank: QueueTakeBody { QueueTakeBody() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "key", &key, .nonEmptyBytes(Limits.queueBatchKeyBytes))
        try options.walk(&walker)
    }
}
