import ChatModel
import Wire

/// Whether and with which words the room's members are told.
struct NotifyBody: WireMessage {
    var options = NotifyOptions()

    static var blank: NotifyBody { NotifyBody() }
    static var schemaName: String { "Notify" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.defaulted(30, "notify", &options.notify, default: true)
        try walker.optional(31, "notifyExt", &options.notifyExt, .bytes(Limits.notifyExtBytes))
    }
}

/// PATCH of a room: the settings to change beside the notification's options.
struct UpdateRoomBody: WireMessage {
    var set = RoomChanges()
    var notify = NotifyBody()

    static var blank: UpdateRoomBody { UpdateRoomBody() }
    static var schemaName: String { "UpdateRoom" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try set.walk(&walker)
        try notify.walk(&walker)
    }
}

/// A barrage item from the app server.
struct BarrageBody: WireMessage {
    var sender: UserID?
    var text = ""
    var ext: String?
    var style: String?
    var priority = Priority.normal

    static var blank: BarrageBody { BarrageBody() }
    static var schemaName: String { "SendBarrage" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "sender", &sender)
        try walker.required(2, "text", &text, .bytes(Limits.barrageTextBytes))
        try walker.optional(4, "ext", &ext, .bytes(Limits.barrageExtBytes))
        try walker.optional(5, "style", &style, .bytes(Limits.barrageStyleBytes))
        try walker.defaulted(6, "priority", &priority, default: .normal)
    }

    /// - Parameter time: when the request came in. The sender's profile and role are the service's to fill in, which
    ///   knows whether the user is in the room.
    func item(time: Timestamp) -> BarrageItem {
        let from = sender.map { Sender(user: $0, profile: Profile(), role: .guest) }
        var item = BarrageItem(from: from, text: text, time: time)
        item.ext = ext
        item.style = style
        item.priority = priority
        return item
    }
}

/// What a token is to say of its user.
struct TokenBody: WireMessage {
    var ttlSeconds: Int64?
    var rooms: [RoomID] = []
    var nick: String?
    var avatar: String?

    static var blank: TokenBody { TokenBody() }
    static var schemaName: String { "TokenRequest" }

    /// A token is at most 4 KB (`Limits.tokenBytes`), so more rooms would not go in.
    static let roomsMax = 50
    /// A year; the node's own bound may be lower.
    static let ttlSecondsMax: Int64 = 366 * 86_400

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "ttlSeconds", &ttlSeconds, .integers(1, Self.ttlSecondsMax))
        try walker.repeated(2, "rooms", &rooms, itemsMax: Self.roomsMax)
        try walker.optional(3, "nick", &nick, .bytes(Limits.nickBytes))
        try walker.optional(4, "avatar", &avatar, .bytes(Limits.urlBytes))
    }

    func request(for user: UserID) -> TokenRequest {
        var request = TokenRequest(user: user)
        request.ttlSeconds = ttlSeconds
        request.rooms = rooms.isEmpty ? nil : rooms
        request.nick = nick
        request.avatar = avatar
        return request
    }
}
