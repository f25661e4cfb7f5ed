/// The decision about a held message for which nobody has decided in time (PROTOCOL.md, "Held messages").
public enum HoldExpiry: String, Sendable, Hashable, CaseIterable {
    case deny = "DENY"
    case allow = "ALLOW"
}

/// How held messages end: a fact of the command that is held, and a setting of the cluster.
public struct HoldPolicy: Sendable, Hashable {
    /// For how long a message waits.
    public var seconds: Int64
    public var onExpiry: HoldExpiry

    public init(seconds: Int64 = Limits.holdSecondsDefault, onExpiry: HoldExpiry = .deny) {
        self.seconds = seconds
        self.onExpiry = onExpiry
    }
}

/// A manager's decision about a held message.
public struct HeldDecision: Sendable, Hashable {
    public var isAllowed: Bool
    /// Why, for the sender of one that is denied.
    public var reason: String?

    public init(isAllowed: Bool, reason: String? = nil) {
        self.isAllowed = isAllowed
        self.reason = reason
    }
}

/// A message that waits for a manager, as its room keeps it.
public struct HeldRecord: Sendable, Hashable {
    /// As it is shown to managers: without a place in the room's order, its ID the `heldId`, its time that of the sending.
    public var message: Message
    /// The log entry: held messages are in this order.
    public var index: UInt64
    /// The room's last seq then.
    public var after: UInt64
    /// The app server has sent it.
    public var isOfServer: Bool
    /// It is its sender's, whoever has sent it. Mutes and kicks of its sender did not concern what the app server had sent before.
    public var isOfSender = false
    /// By which a repeat of the send is known.
    public var key: CommandKey?
    public var expiresAt: Timestamp
    public var onExpiry: HoldExpiry
    /// The messages that a COMBINE names, as they were then.
    public var copies: [Message] = []

    public init(
        message: Message, index: UInt64, after: UInt64, isOfServer: Bool, key: CommandKey?, expiresAt: Timestamp,
        onExpiry: HoldExpiry
    ) {
        self.message = message
        self.index = index
        self.after = after
        self.isOfServer = isOfServer
        self.key = key
        self.expiresAt = expiresAt
        self.onExpiry = onExpiry
    }

    /// The user whose mute or kick denies it, and who is told that it was denied.
    public var sender: UserID? { isOfServer && !isOfSender ? nil : message.sender }
}

/// The memory of a held message that was denied or withdrawn: who resumes is told of it, and a repeat of the send answered.
public struct DeniedRecord: Sendable, Hashable {
    public var heldID: String
    /// Absent: the app server has sent it in nobody's name.
    public var user: UserID?
    public var clientID: String?
    /// As the manager has given it, else one of `DenialReason`.
    public var reason: String?
    public var time: Timestamp
    /// The log entry.
    public var index: UInt64
    /// The room's last seq then.
    public var after: UInt64
    public var key: CommandKey?

    public init(heldID: String, user: UserID?, time: Timestamp, index: UInt64, after: UInt64) {
        self.heldID = heldID
        self.user = user
        self.time = time
        self.index = index
        self.after = after
    }
}

/// The reason of a denial for which no manager has given one.
public enum DenialReason: String, Sendable, Hashable, CaseIterable {
    case expired = "EXPIRED"
    case withdrawn = "WITHDRAWN"
    case muted = "MUTED"
    case kicked = "KICKED"
    case blacklisted = "BLACKLISTED"
    case roomClosed = "ROOM_CLOSED"
}
