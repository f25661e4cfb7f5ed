import ChatModel

/// What a session may say in a room, as its leader has told the session's gateway, so that this can judge barrage that it
/// does not pass on. The leader judges everything that it shows itself.
public struct Voice: Sendable, Hashable {
    public var role: Role
    /// Until when the session is muted; nil: it is not.
    public var mutedUntil: Timestamp?

    public init(role: Role, mutedUntil: Timestamp? = nil) {
        self.role = role
        self.mutedUntil = mutedUntil
    }

    /// Of a member, as it is now.
    public init(_ member: Member, at now: Timestamp) {
        role = member.role
        if member.tempMuted { mutedUntil = now.adding(seconds: member.tempMuteSeconds) }
        if member.muted || member.blacklisted { mutedUntil = Timestamp(Int64.max) }
    }

    /// Whether the session may speak now, in a room that is muted or not.
    public func maySpeak(inMutedRoom isMuted: Bool, at now: Timestamp) -> Bool {
        if let mutedUntil, now < mutedUntil { return false }
        return role != .anonymous && (!isMuted || role.rank >= Role.manager.rank)
    }
}
