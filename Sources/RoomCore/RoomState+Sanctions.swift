import ChatModel

/// Mutes, blacklist and kicks. Asking for what is already so answers and tells nobody.
extension RoomState {
    mutating func setMute(
        _ user: UserID, enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireManager(command.actor)
        try requireOutranks(command.actor, user)
        if members[user]?.muted ?? false != enable {
            if enable { try requireRoomForFixed(user, command.facts) }
            updateMember(user, &outcome) { $0.muted = enable }
            notify(enable ? .muted : .unmuted, options, of: [user], for: command, &outcome)
            if enable { denyHeld(of: user, .muted, &outcome) }
        }
        return .member(member(user, command.facts, at: outcome.time))
    }

    /// A new duration replaces the old one; 0 lifts, once.
    mutating func tempMute(
        _ user: UserID, seconds: Int64, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireManager(command.actor)
        try requireOutranks(command.actor, user)
        try requireDuration(seconds, field: "seconds")
        if seconds > 0 {
            try requireRoomForDeadline(user)
            let end = outcome.time.adding(seconds: seconds)
            updateMember(user, &outcome) { $0.tempMutedUntil = end }
            notify(.temporarilyMuted, options, of: [user], data: .seconds(seconds), for: command, &outcome)
            denyHeld(of: user, .muted, &outcome)
        } else if members[user]?.tempMutedUntil != nil {
            updateMember(user, &outcome) { $0.tempMutedUntil = nil }
            notify(.temporaryMuteLifted, options, of: [user], for: command, &outcome)
        }
        return .member(member(user, command.facts, at: outcome.time))
    }

    /// Takes the role, kicks with reason 5 and takes the transient elements; flags and temporary mutes stay. The
    /// creator cannot be blacklisted.
    mutating func setBlacklist(
        _ user: UserID, enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireManager(command.actor)
        try requireOutranks(command.actor, user)
        try requireNotCreator(user)
        for target in command.facts.recalled { try requireMayRecall(target, command, outcome.stamp) }
        let isNew = members[user]?.blacklisted ?? false != enable
        if isNew {
            guard !enable || members.blacklisted.count < command.facts.blacklistedMax else {
                throw ChatError(
                    .badParameter, "a room has at most \(command.facts.blacklistedMax) blacklisted users")
            }
            let barredAddress = enable ? command.facts.barredAddress(at: outcome.time) : nil
            updateMember(user, &outcome) {
                $0.blacklisted = enable
                if enable { $0.role = .none }
                $0.barredAddress = barredAddress
            }
            notify(enable ? .blacklisted : .unblacklisted, options, of: [user], for: command, &outcome)
        }
        if enable, let incarnation {
            erase(command.facts.recalled, of: incarnation, options, for: command, &outcome)
        }
        if enable, isNew { throwOut(user, because: .blacklisted, options, for: command, &outcome) }
        return .member(member(user, command.facts, at: outcome.time))
    }

    /// Whether the user is here is the leader's knowledge; without a ban a kick of somebody who is away is its to
    /// refuse. A new ban replaces an older one, 0 lifts it, and nil leaves it.
    mutating func kick(
        _ user: UserID, banSeconds: Int64?, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireMayKick(user, by: command.actor)
        if let banSeconds { try requireDuration(banSeconds, field: "banSeconds") }
        if banSeconds == 0, members[user]?.banLeft(at: outcome.time) != nil {
            // A banned user is not here: nobody is put out, and nobody is told.
            updateMember(user, &outcome) { $0.bannedUntil = nil }
            return .done
        }
        // The ban has ended since the leader looked, which would not have proposed this of somebody who is away.
        if banSeconds == 0, command.facts.names[user] == nil { return .done }
        if let banSeconds, banSeconds > 0 {
            try requireRoomForDeadline(user)
            let end = outcome.time.adding(seconds: banSeconds)
            updateMember(user, &outcome) { $0.bannedUntil = end }
        }
        notify(.kicked, options, of: [user], for: command, &outcome)
        throwOut(user, because: .byManager, options, for: command, &outcome)
        return .done
    }

    private mutating func throwOut(
        _ user: UserID, because reason: KickReason, _ options: NotifyOptions, for command: Command,
        _ outcome: inout Outcome
    ) {
        removeElements(queue.transientElements(of: user), for: command, &outcome)
        forgetRobots([user], &outcome)
        denyHeld(of: user, reason == .blacklisted ? .blacklisted : .kicked, &outcome)
        noteKick(user, reason, &outcome)
        outcome.endings.append(.kick(user, reason: reason, ext: options.notifyExt))
    }

    // MARK: - Deadlines

    /// Ends what is due, the earliest first: 315 without operator for a temporary mute, nothing for a ban; 311 when the
    /// room has been empty for long enough. Removes results that are forgotten. The rest beyond `expiredAtOnceMax` of a
    /// kind stays due, so `nextDeadline` asks for another `expire`.
    mutating func expire(
        for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        var ended = 0
        while ended < Self.expiredAtOnceMax, let due = members.deadlines.first, due.time <= outcome.time {
            ended += 1
            let now = outcome.time
            let endsMute = members[due.user]?.tempMutedUntil.map { $0 <= now } ?? false
            updateMember(due.user, &outcome) {
                if endsMute { $0.tempMutedUntil = nil }
                if let end = $0.bannedUntil, end <= now { $0.bannedUntil = nil }
                if let end = $0.barredAddress?.until, end <= now { $0.barredAddress = nil }
            }
            if endsMute {
                notify(.temporaryMuteLifted, NotifyOptions(), of: [due.user], for: command, &outcome)
            }
        }
        let allDecided = expireHeld(countMax: Self.expiredAtOnceMax, for: command, &outcome)
        closeIfIdle(for: command, &outcome)
        expirePolls(for: command, &outcome)
        if let deleted, deleted.record.purgeAt <= outcome.time { purge(&outcome) }
        endExcerpts(countMax: Self.expiredAtOnceMax, &outcome)
        // Those that are still to be decided may name content.
        if allDecided { endUploads(countMax: Self.expiredAtOnceMax, &outcome) }
        var rows = -1
        while rows < outcome.rows.count, outcome.rows.count < Self.expiredAtOnceMax {
            rows = outcome.rows.count
            prune(at: outcome.time, &outcome)
        }
        return .done
    }

    /// Users whose temporary mute or ban is over, the earliest first, at most as many as one `expire` ends: the leader states
    /// their names, which the 315 shows.
    public func dueUsers(at now: Timestamp) -> [UserID] {
        var users: [UserID] = []
        members.deadlines.ascend(skipping: { _ in false }) { deadline in
            guard deadline.time <= now, users.count < Self.expiredAtOnceMax else { return false }
            users.append(deadline.user)
            return true
        }
        return users
    }

    private static var expiredAtOnceMax: Int { 256 }
    /// The most users that may be temporarily muted or banned at the same time in one room.
    private static var deadlinesMax: Int { 100_000 }

    private func requireRoomForDeadline(_ user: UserID) throws(ChatError) {
        guard members[user]?.deadline != nil || members.deadlines.count < Self.deadlinesMax else {
            throw ChatError(
                .badParameter, "at most \(Self.deadlinesMax) users can be temporarily muted or banned in a room")
        }
    }

    private func requireDuration(_ seconds: Int64, field: String) throws(ChatError) {
        guard (0...Limits.banSeconds).contains(seconds) else {
            throw ChatError(.badParameter, "\(field) is between 0 and \(Limits.banSeconds)", field: field)
        }
    }

    // MARK: - Oneself

    /// 316, also from a muted member. Only the leader knows the profile of a stay: it takes the new profile from the
    /// result. `save` keeps the given fields for a fixed member; for anybody else it means nothing.
    mutating func updateMe(
        _ set: ProfileChanges, save: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard let user = command.actor.user else {
            throw ChatError(.badParameter, "the system has no info of its own")
        }
        var command = command
        if case .member(_, var profile, let anonymous) = command.actor {
            set.apply(to: &profile)
            command.actor = .member(user, profile, anonymous: anonymous)
            command.facts.names[user] = profile
        }
        if save, role(of: user).isFixed {
            updateMember(user, &outcome) {
                var saved = $0.savedProfile ?? Profile()
                set.apply(to: &saved)
                $0.savedProfile = saved
            }
        }
        if set != ProfileChanges() {
            notify(.memberUpdatedInfo, options, of: [user], data: .member(set: set), for: command, &outcome)
        }
        return .member(member(user, command.facts, at: outcome.time))
    }
}

extension CommandFacts {
    /// The address that a blacklisting keeps out, if there is one.
    fileprivate func barredAddress(at now: Timestamp) -> BarredAddress? {
        guard let addressHash, addressBarSeconds > 0 else { return nil }
        return BarredAddress(hash: addressHash, until: now.adding(seconds: addressBarSeconds))
    }
}

extension ProfileChanges {
    /// Sets what is given.
    public func apply(to profile: inout Profile) {
        if let nick { profile.nick = nick }
        if let avatar { profile.avatar = avatar }
        if let ext { profile.ext = ext }
    }
}
