import ChatModel

/// Everybody is told of who comes and goes: 301, 302, in big rooms one 350 a second, and the count.
extension Presence {
    mutating func publishEnter(_ visitor: Visitor, role: Role, notify: EnterExitNotify, at now: Timestamp)
        -> Notification?
    {
        // Everybody is told the same: one who is RESTRICTED comes and goes as a guest does.
        let role = role.shownToOthers
        guard isTold(isFixed: role.isFixed, notify) else { return nil }
        if !role.isFixed, online > policy.digestAboveOnline {
            digest.enter(visitor, at: now)
            return nil
        }
        var notification = Notification(.enter)
        let name = UserName(user: visitor.user, nick: visitor.profile.nick)
        notification.operator = name
        notification.targets = [name]
        notification.notifyExt = visitor.notifyExt
        notification.data = .entered(
            avatar: visitor.profile.avatar, ext: visitor.profile.ext, role: visitor.anonymous ? .anonymous : role,
            online: Int64(online))
        return notification
    }

    /// Whether the room is big is asked with whoever enters or exits counted in, so both ends of a stay are alike.
    mutating func publishExit(
        _ stay: Stay, _ user: UserID, onlineBefore: Int, notify: EnterExitNotify, at now: Timestamp
    ) -> Notification? {
        let isFixed = stay.standing == .fixed
        guard isTold(isFixed: isFixed, notify) else { return nil }
        if !isFixed, onlineBefore > policy.digestAboveOnline {
            digest.exit(at: now)
            return nil
        }
        var notification = Notification(.exit)
        let name = UserName(user: user, nick: stay.profile.nick)
        notification.operator = name
        notification.targets = [name]
        notification.data = .exited(online: Int64(online))
        return notification
    }

    private func isTold(isFixed: Bool, _ notify: EnterExitNotify) -> Bool {
        switch notify {
        case .all: true
        case .fixedOnly: isFixed
        case .none: false
        }
    }

    /// A leader begins to learn who is here, and lanes announce them one by one: the count is not pushed before it may have
    /// heard of all.
    public mutating func beginCounting(at now: Timestamp) { onlinePushedAt = now }

    /// When `tick` has something to do next; nil while nothing changes.
    public var nextTick: Timestamp? {
        guard Int64(online) != pushedOnline else { return digest.dueAt }
        let push = onlinePushedAt?.adding(seconds: policy.onlinePushSeconds) ?? Timestamp(0)
        return digest.dueAt.map { min($0, push) } ?? push
    }

    /// Effects that have become due: the digest of the last second, and the count if it has changed and was not pushed
    /// within `onlinePushSeconds`.
    public mutating func tick(at now: Timestamp) -> [PresenceEffect] {
        var effects: [PresenceEffect] = []
        if let notification = digest.take(online: Int64(online), at: now) { effects.append(.show(notification)) }
        let earliest = onlinePushedAt?.adding(seconds: policy.onlinePushSeconds)
        if Int64(online) != pushedOnline, earliest.map({ $0 <= now }) ?? true {
            pushedOnline = Int64(online)
            onlinePushedAt = now
            effects.append(.online(pushedOnline))
        }
        return effects
    }

    /// The message that shows a 301, 302 or 350 behind the room's last seq.
    public mutating func message(
        _ notification: Notification, in room: RoomID, _ incarnation: Incarnation, after lastSeq: UInt64,
        at now: Timestamp
    ) -> Message {
        nextMessage &+= 1
        let time = UInt64(exactly: now.milliseconds) ?? 0
        return Message(
            room: room, place: .unkept(after: lastSeq),
            messageID: MessageID.soft(incarnation, time: time, ordinal: nextMessage).text, time: now, from: nil,
            body: .notification(notification))
    }
}
