import ChatModel

/// A session's right to speak in a room, as its leader has told the session's gateway, so that this can judge barrage
/// and taps that it does not pass on. The leader judges everything that it shows itself.
public struct Voice: Sendable, Hashable {
    public var role: Role
    /// Until when the session is muted; nil: it is not.
    public var mutedUntil: Timestamp?
    /// The life of the room in which it may; nil: its leader has an older version, which does not say.
    public var incarnation: Incarnation?

    public init(role: Role, mutedUntil: Timestamp? = nil, in incarnation: Incarnation? = nil) {
        self.role = role
        self.mutedUntil = mutedUntil
        self.incarnation = incarnation
    }

    /// The right of a member, as it is now.
    public init(_ member: Member, in incarnation: Incarnation?, at now: Timestamp) {
        role = member.role
        self.incarnation = incarnation
        if member.tempMuted { mutedUntil = now.adding(seconds: member.tempMuteSeconds) }
        if member.muted || member.blacklisted { mutedUntil = Timestamp(Int64.max) }
    }

    /// Why the session may not speak now, as `RoomState.maySpeak` says it; nil when it may.
    public func refusal(of user: UserID, in room: RoomID, isMuted: Bool, at now: Timestamp) -> ChatError? {
        if role == .anonymous { return ChatError(.forbidden, "anonymous members only listen") }
        if let mutedUntil, now < mutedUntil {
            guard mutedUntil < Timestamp(Int64.max) else { return ChatError(.muted, "\(user) is muted in \(room)") }
            let left = mutedUntil.milliseconds - now.milliseconds
            return ChatError(
                .muted, "\(user) is muted in \(room) for \((left + 999) / 1000) s more", retryAfterMs: left)
        }
        guard isMuted, role.rank < Role.manager.rank else { return nil }
        return ChatError(.roomMuted, "only creator and managers may send in \(room)")
    }
}
