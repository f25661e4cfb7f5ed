import ChatModel

extension MemberRecord {
    /// The role that follows from the durable standing and the flags (PROTOCOL.md, "Roles").
    public var effectiveRole: Role {
        switch role {
        case .creator: .creator
        case .manager: .manager
        case .normal: .normal
        case .none: muted || blacklisted ? .restricted : .guest
        }
    }

    /// Whether there is anything left to remember.
    var isWorthKeeping: Bool {
        effectiveRole.isFixed || tempMutedUntil != nil || bannedUntil != nil
    }

    /// The next moment at which something of this record ends.
    var deadline: Timestamp? {
        [tempMutedUntil, bannedUntil, barredAddress?.until].compactMap { $0 }.min()
    }

    /// Milliseconds that the temporary mute still lasts; nil when there is none.
    func tempMuteLeft(at now: Timestamp) -> Int64? { Self.left(until: tempMutedUntil, at: now) }

    /// Milliseconds that entering is still forbidden after a kick; nil when it is not.
    func banLeft(at now: Timestamp) -> Int64? { Self.left(until: bannedUntil, at: now) }

    private static func left(until end: Timestamp?, at now: Timestamp) -> Int64? {
        guard let end, end > now else { return nil }
        return end.milliseconds(since: now)
    }
}
