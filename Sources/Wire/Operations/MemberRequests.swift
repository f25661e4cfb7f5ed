import ChatModel

/// `members`: a page of one listing.
public struct MembersRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var kind: MemberKind
    /// The cursor `next` of the page before.
    public var after: String?
    /// 1 to 100.
    public var limit = Limits.pageItemsDefault

    public static var blank: MembersRequest { MembersRequest(room: .blank, kind: .blank) }

    public init(room: RoomID, kind: MemberKind, after: String? = nil, limit: Int64 = Limits.pageItemsDefault) {
        self.room = room
        self.kind = kind
        self.after = after
        self.limit = limit
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "kind", &kind)
        try walker.optional(3, "after", &after, .bytes(Limits.opaqueIDBytes))
        try walker.defaulted(
            4, "limit", &limit, default: Limits.pageItemsDefault, .integers(1, Limits.pageItems))
    }
}

/// `membersById`: up to 20 members.
public struct MembersByIDRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var users: [UserID]

    public static var blank: MembersByIDRequest { MembersByIDRequest(room: .blank, users: []) }

    public init(room: RoomID, users: [UserID]) {
        self.room = room
        self.users = users
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.list(2, "users", &users, itemsMax: Limits.membersByID)
    }
}

/// `updateMe`: what the caller shows of itself.
public struct UpdateMeRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var set: ProfileChanges
    /// Keeps it for a fixed member beyond the stay.
    public var save = false
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: UpdateMeRequest { UpdateMeRequest(room: .blank, set: ProfileChanges()) }

    var contentBytes: Int { bytes(set.nick, set.avatar, set.ext, options.notifyExt) }

    public init(
        room: RoomID, set: ProfileChanges, save: Bool = false, options: NotifyOptions = NotifyOptions(),
        clientID: String? = nil
    ) {
        self.room = room
        self.set = set
        self.save = save
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "set", &set)
        try walker.defaulted(3, "save", &save, default: false)
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `setManager`, `setMember` and `setMute`: a role or a mute, on or off. `options.notify` is not for clients to set.
public struct UserFlagRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var user: UserID
    public var enable: Bool
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: UserFlagRequest { UserFlagRequest(room: .blank, user: .blank, enable: false) }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(
        room: RoomID, user: UserID, enable: Bool, options: NotifyOptions = NotifyOptions(), clientID: String? = nil
    ) {
        self.room = room
        self.user = user
        self.enable = enable
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "user", &user)
        try walker.required(3, "enable", &enable)
        try walker.optional(31, "notifyExt", &options.notifyExt, .bytes(Limits.notifyExtBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `setBlacklist`: may the user enter. `options.notify` is not for clients to set.
public struct BlacklistRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var user: UserID
    public var enable: Bool
    /// Recalls the user's messages too.
    public var recall = false
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: BlacklistRequest { BlacklistRequest(room: .blank, user: .blank, enable: false) }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(
        room: RoomID, user: UserID, enable: Bool, recall: Bool = false, options: NotifyOptions = NotifyOptions(),
        clientID: String? = nil
    ) {
        self.room = room
        self.user = user
        self.enable = enable
        self.recall = recall
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "user", &user)
        try walker.required(3, "enable", &enable)
        try walker.defaulted(4, "recall", &recall, default: false)
        try walker.optional(31, "notifyExt", &options.notifyExt, .bytes(Limits.notifyExtBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `tempMute`: a mute that ends by itself.
public struct TempMuteRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var user: UserID
    /// 0 lifts; at most 30 days.
    public var seconds: Int64
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: TempMuteRequest { TempMuteRequest(room: .blank, user: .blank, seconds: 0) }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(
        room: RoomID, user: UserID, seconds: Int64, options: NotifyOptions = NotifyOptions(), clientID: String? = nil
    ) {
        self.room = room
        self.user = user
        self.seconds = seconds
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "user", &user)
        try walker.required(3, "seconds", &seconds, .integers(0, Limits.banSeconds))
        try options.walk(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `kick`: out of the room. `options.notify` is not for clients to set.
public struct KickRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var user: UserID
    /// Forbids entering for that time, at most 30 days; 0 lifts that, also of who is away.
    public var banSeconds: Int64?
    /// The part of the notification that the caller decides.
    public var options = NotifyOptions()
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: KickRequest { KickRequest(room: .blank, user: .blank) }

    var contentBytes: Int { bytes(options.notifyExt) }

    public init(
        room: RoomID, user: UserID, banSeconds: Int64? = nil, options: NotifyOptions = NotifyOptions(),
        clientID: String? = nil
    ) {
        self.room = room
        self.user = user
        self.banSeconds = banSeconds
        self.options = options
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "user", &user)
        try walker.optional(3, "banSeconds", &banSeconds, .integers(0, Limits.banSeconds))
        try walker.optional(31, "notifyExt", &options.notifyExt, .bytes(Limits.notifyExtBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}
