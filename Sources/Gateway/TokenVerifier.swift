import ChatModel

/// What a valid token says.
public struct TokenClaims: Sendable, Hashable {
    public var user: UserID
    public var expiresAt: Timestamp
    /// The only rooms it may enter; nil is all.
    public var rooms: [RoomID]?
    public var nick: String
    public var avatar: String

    public init(user: UserID, expiresAt: Timestamp, rooms: [RoomID]?, nick: String, avatar: String) {
        self.user = user
        self.expiresAt = expiresAt
        self.rooms = rooms
        self.nick = nick
        self.avatar = avatar
    }
}

/// Checks client tokens. `Node` implements it with the cluster's keys.
public protocol TokenVerifier: Sendable {
    /// Throws `ChatError` 401 for anything but a valid client token.
    func verify(_ token: String) async throws(ChatError) -> TokenClaims
}
