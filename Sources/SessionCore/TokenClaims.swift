import ChatModel

/// The claims of a valid token.
public struct TokenClaims: Sendable, Hashable {
    public var user: UserID
    public var expiresAt: Timestamp
    /// The only rooms it may enter; nil is all.
    public var rooms: [RoomID]?
    public var nick: String
    public var avatar: String
    /// `iat`, to the millisecond; nil when the token does not say.
    public var issuedAt: Timestamp?

    public init(
        user: UserID, expiresAt: Timestamp, issuedAt: Timestamp? = nil, rooms: [RoomID]?, nick: String, avatar: String
    ) {
        self.user = user
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.rooms = rooms
        self.nick = nick
        self.avatar = avatar
    }
}
