import ChatModel
import Wire

/// The content of a token for its user.
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
