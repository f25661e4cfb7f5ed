/// The kinds of what an app server may impose on a user everywhere (PROTOCOL.md, "App-wide sanctions").
public enum SanctionKind: String, Sendable, Hashable, CaseIterable {
    /// Kept out: no session, no room.
    case banned = "BANNED"
    /// May read and not speak.
    case muted = "MUTED"
}

/// A ban or a mute of a user in all rooms.
public struct UserSanction: Sendable, Hashable {
    public var since: Timestamp
    /// nil: for good.
    public var endsAt: Timestamp?
    public var reason: String?

    public init(since: Timestamp, endsAt: Timestamp? = nil, reason: String? = nil) {
        self.since = since
        self.endsAt = endsAt
        self.reason = reason
    }

    public func isInForce(at now: Timestamp) -> Bool { endsAt.map { $0 > now } ?? true }

    /// The answer to whoever is banned, or may not speak.
    public func refusal(of user: UserID, _ kind: SanctionKind, at now: Timestamp) -> ChatError {
        let left = endsAt.map { max(1, $0.milliseconds - now.milliseconds) }
        let end = left.map { " for \(($0 + 999) / 1000) s more" } ?? ""
        let (code, what): (ErrorCode, String) = kind == .banned ? (.forbidden, "banned") : (.muted, "muted")
        return ChatError(code, "\(user) is \(what) in all rooms\(end)", retryAfterMs: left)
    }
}
