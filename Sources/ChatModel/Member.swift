/// The standing of a user in a room. The first four are fixed: they persist while the user is away.
public enum Role: String, Sendable, Hashable, CaseIterable {
    case creator = "CREATOR"
    case manager = "MANAGER"
    case normal = "NORMAL"
    case restricted = "RESTRICTED"
    case guest = "GUEST"
    case anonymous = "ANONYMOUS"

    public var isFixed: Bool {
        switch self {
        case .creator, .manager, .normal, .restricted: true
        case .guest, .anonymous: false
        }
    }

    /// creator > manager > all others (PROTOCOL.md, "Roles").
    public var rank: Int {
        switch self {
        case .creator: 2
        case .manager: 1
        case .normal, .restricted, .guest, .anonymous: 0
        }
    }
}

extension Role {
    /// The role that guests and normal members see of somebody else: RESTRICTED says that a user is muted or
    /// blacklisted, which is shown to managers and to oneself only, and is a GUEST's otherwise.
    public var shownToOthers: Role { self == .restricted ? .guest : self }
}

/// The profile that a member shows in a room.
public struct Profile: Sendable, Hashable {
    public var nick: String
    public var avatar: String
    public var ext: String

    public init(nick: String = "", avatar: String = "", ext: String = "") {
        self.nick = nick
        self.avatar = avatar
        self.ext = ext
    }

    /// This profile, with empty fields filled from `other`.
    public func filled(from other: Profile) -> Profile {
        Profile(
            nick: nick.isEmpty ? other.nick : nick, avatar: avatar.isEmpty ? other.avatar : avatar,
            ext: ext.isEmpty ? other.ext : ext)
    }
}

/// A user seen from a room.
public struct Member: Sendable, Hashable {
    public var user: UserID
    public var profile: Profile
    public var role: Role
    public var muted = false
    public var tempMuted = false
    /// Seconds left, rounded up; 0 when not temporarily muted.
    public var tempMuteSeconds: Int64 = 0
    public var blacklisted = false
    public var online = false
    /// When the current stay began; nil for who is away.
    public var enteredAt: Timestamp?
    /// Until when a kick keeps the user out. Only the listing BANNED has it: members of other answers are remembered in the
    /// log and in rows, where programs of before refuse a field that they do not know.
    public var banEndsAt: Timestamp?

    public init(user: UserID, profile: Profile, role: Role) {
        self.user = user
        self.profile = profile
        self.role = role
    }
}

extension Member {
    /// As guests and normal members see somebody else: without what tells of mutes, bans and the blacklist.
    public var shownToOthers: Member {
        var member = self
        member.role = role.shownToOthers
        (member.muted, member.tempMuted, member.tempMuteSeconds, member.blacklisted) = (false, false, 0, false)
        member.banEndsAt = nil
        return member
    }
}

/// A user named in a notification.
public struct UserName: Sendable, Hashable {
    public var user: UserID
    public var nick: String

    public init(user: UserID, nick: String) {
        self.user = user
        self.nick = nick
    }
}

/// The listings of `members` (PROTOCOL.md, "Operations").
public enum MemberKind: String, Sendable, Hashable, CaseIterable {
    case fixed = "FIXED"
    case fixedOnline = "FIXED_ONLINE"
    case temporary = "TEMPORARY"
    case temporaryReversed = "TEMPORARY_REVERSED"
    case managers = "MANAGERS"
    case muted = "MUTED"
    case blacklisted = "BLACKLISTED"
    /// A user that a kick keeps out for a time.
    case banned = "BANNED"
}

/// The device that a client says it runs on; the conflict policy `perDevice` reads it.
public enum Device: String, Sendable, Hashable, CaseIterable {
    case mobile, desktop, web, server
}

/// Why a `kicked` push ends a room (PROTOCOL.md, "Kick reasons").
public enum KickReason: Int, Sendable, Hashable, CaseIterable {
    /// The reasons that this version knows.
    public static let allCases: [KickReason] = [
        .roomClosed, .byManager, .conflictingLogin, .blacklisted, .tokenRevoked, .banned,
    ]

    case roomClosed = 1
    case byManager = 2
    case conflictingLogin = 3
    case blacklisted = 5
    case tokenRevoked = 6
    /// In all rooms.
    case banned = 7
    /// Read by a client: a reason of a later version. The session is out all the same. Nobody sends it.
    case unknown = 0
}
