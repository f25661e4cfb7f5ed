import ChatModel

/// Body of PUT /v1/users/{user}/ban and …/mute.
public struct SanctionRequest: WireMessage, Hashable {
    /// 0 lifts; absent: for good.
    public var seconds: Int64?
    public var reason: String?

    public static var blank: SanctionRequest { SanctionRequest() }
    public static var schemaName: String { "Sanction" }
    /// A hundred years.
    public static let secondsMax: Int64 = 100 * 366 * 86_400
    public static let reasonBytesMax = 256

    public init(seconds: Int64? = nil, reason: String? = nil) {
        self.seconds = seconds
        self.reason = reason
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "seconds", &seconds, .integers(0, Self.secondsMax))
        try walker.optional(2, "reason", &reason, .bytes(Self.reasonBytesMax))
    }
}

/// A user apart from rooms: which app-wide sanctions are in force.
public struct UserView: WireMessage, Hashable {
    public var user: UserID
    public var banned: UserSanction?
    public var muted: UserSanction?
    /// How many sessions the user has; absent in a listing.
    public var sessions: Int64?

    public static var blank: UserView { UserView(user: .blank) }
    public static var schemaName: String { "User" }

    public init(user: UserID, banned: UserSanction? = nil, muted: UserSanction? = nil, sessions: Int64? = nil) {
        self.user = user
        self.banned = banned
        self.muted = muted
        self.sessions = sessions
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.optional(2, "banned", &banned)
        try walker.optional(3, "muted", &muted)
        try walker.optional(4, "sessions", &sessions)
    }
}

extension UserSanction: WireMessage {
    public static var blank: UserSanction { UserSanction(since: .blank) }
    public static var schemaName: String { "UserSanction" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "since", &since)
        try walker.optional(2, "endsAt", &endsAt)
        try walker.optional(3, "reason", &reason)
    }
}

/// {users, [next]}.
public struct UsersView: WireMessage, Hashable {
    public var users: [UserView]
    public var next: UserID?

    public static var blank: UsersView { UsersView(users: []) }
    public static var schemaName: String { "Users" }

    public init(users: [UserView], next: UserID? = nil) {
        self.users = users
        self.next = next
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "users", &users)
        try walker.optional(2, "next", &next)
    }
}
