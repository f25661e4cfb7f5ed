import ChatModel

/// Body of POST /v1/rooms.
public struct CreateRoomRequest: WireMessage, Hashable {
    /// nil: generated.
    public var id: RoomID?
    public var creator: UserID
    public var set: RoomChanges

    public static var blank: CreateRoomRequest { CreateRoomRequest(id: nil, creator: .blank) }

    public init(id: RoomID?, creator: UserID, set: RoomChanges = RoomChanges()) {
        self.id = id
        self.creator = creator
        self.set = set
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try set.walk(&walker)
        try walker.optional(30, "id", &id)
        try walker.required(31, "creator", &creator)
    }
}

/// Body of PATCH /v1/rooms/{room}: the settings beside the caller's choices.
public struct UpdateRoomBody: WireMessage, Hashable {
    public var set: RoomChanges
    public var options: ServerOptions

    public static var blank: UpdateRoomBody { UpdateRoomBody(set: RoomChanges()) }

    public init(set: RoomChanges, options: ServerOptions = ServerOptions()) {
        self.set = set
        self.options = options
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try set.walk(&walker)
        try options.walk(&walker)
    }
}

/// The options of role, mute, kick and queue calls besides their own fields, and the whole body of calls without any.
public struct ServerOptions: WireMessage, Hashable {
    public var notify = NotifyOptions()
    /// In whose name; nil is the system.
    public var `operator`: UserName?

    public static var blank: ServerOptions { ServerOptions() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try notify.walk(&walker)
        var named = `operator`.map(OperatorField.init)
        try walker.optional(32, "operator", &named)
        if W.isDecoding { `operator` = named?.name }
    }
}

/// `operator`: a user ID, or {user, nick}.
struct OperatorField: WireMessage {
    var name: UserName

    static var blank: OperatorField { OperatorField(name: .blank) }
    static var schemaName: String { "Operator" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try name.walk(&walker) }

    static func readJSON(_ value: JSONValue) throws(ChatError) -> OperatorField {
        guard value.isString else { return OperatorField(name: try UserName.readJSON(value)) }
        return OperatorField(name: UserName(user: try UserID.readJSON(value), nick: ""))
    }
}

/// Robots of POST and DELETE /v1/rooms/{room}/robots.
public struct RobotsBody: WireMessage, Hashable {
    public var robots: [Robot]

    public static var blank: RobotsBody { RobotsBody(robots: []) }

    public init(robots: [Robot]) { self.robots = robots }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "robots", &robots, itemsMax: Limits.robots)
    }
}

/// {user, [nick, avatar, ext]}, or just the user ID.
extension Robot: WireMessage {
    public static var blank: Robot { Robot(user: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &profile.nick, .bytes(Limits.nickBytes))
        try walker.shown(3, "avatar", &profile.avatar, .bytes(Limits.urlBytes))
        try walker.shown(4, "ext", &profile.ext, .bytes(Limits.extBytes))
    }

    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Robot {
        if value.isString { return Robot(user: try UserID.readJSON(value)) }
        var reader = try value.object()
        var robot = blank
        try robot.walk(&reader)
        return robot
    }
}
