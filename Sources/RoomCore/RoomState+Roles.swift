import ChatModel

/// Fixed roles. Asking for what is already so answers the member and tells nobody.
extension RoomState {
    mutating func setManager(
        _ user: UserID, enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireMaySetManager(command.actor, user)
        if enable {
            try makeManager(user, options, for: command, &outcome)
        } else if role(of: user) == .manager {
            makeNormal(user, telling: .managerRemoved, options, for: command, &outcome)
        }
        return .member(member(user, command.facts, at: outcome.time))
    }

    /// Enabling leaves a manager what he is; disabling one removes both roles.
    mutating func setMember(
        _ user: UserID, enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireManager(command.actor)
        try requireOutranks(command.actor, user)
        if !enable {
            makeGuest(user, options, for: command, &outcome)
        } else if role(of: user) != .manager {
            try makeFixedMember(user, options, for: command, &outcome)
        }
        return .member(member(user, command.facts, at: outcome.time))
    }

    /// A manager becomes normal by 308, and a guest by 308 and 310.
    mutating func setRole(
        _ user: UserID, to wanted: FixedRole, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        if wanted == .manager || role(of: user) == .manager {
            try requireMaySetManager(command.actor, user)
        } else {
            try requireManager(command.actor)
            try requireOutranks(command.actor, user)
        }
        try requireNotCreator(user)
        switch wanted {
        case .manager:
            try makeManager(user, options, for: command, &outcome)
        case .normal where role(of: user) == .manager:
            makeNormal(user, telling: .managerRemoved, options, for: command, &outcome)
        case .normal:
            try makeFixedMember(user, options, for: command, &outcome)
        case .guest:
            makeGuest(user, options, for: command, &outcome)
        }
        return .member(member(user, command.facts, at: outcome.time))
    }

    // MARK: - The steps

    private mutating func makeManager(
        _ user: UserID, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) {
        try requireNotCreator(user)
        guard role(of: user) != .manager else { return }
        try requireMayHoldRole(user, command.facts)
        guard members.managerCount < command.facts.managersMax else {
            throw ChatError(.badParameter, "a room has at most \(command.facts.managersMax) managers")
        }
        updateMember(user, &outcome) { $0.role = .manager }
        notify(.managerSet, options, of: [user], for: command, &outcome)
    }

    private mutating func makeFixedMember(
        _ user: UserID, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) {
        try requireNotCreator(user)
        guard role(of: user) != .normal else { return }
        try requireMayHoldRole(user, command.facts)
        makeNormal(user, telling: .madeFixedMember, options, for: command, &outcome)
    }

    private mutating func makeNormal(
        _ user: UserID, telling event: EventCode, _ options: NotifyOptions, for command: Command,
        _ outcome: inout Outcome
    ) {
        updateMember(user, &outcome) { $0.role = .normal }
        notify(event, options, of: [user], for: command, &outcome)
    }

    /// A muted one becomes RESTRICTED instead.
    private mutating func makeGuest(
        _ user: UserID, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) {
        let wasManager = role(of: user) == .manager
        guard wasManager || role(of: user) == .normal else { return }
        updateMember(user, &outcome) { $0.role = .none }
        if wasManager { notify(.managerRemoved, options, of: [user], for: command, &outcome) }
        notify(.fixedMemberRemoved, options, of: [user], for: command, &outcome)
    }

    // MARK: - Checks

    private func requireMaySetManager(_ actor: Actor, _ user: UserID) throws(ChatError) {
        guard rank(of: actor) >= Self.creatorRank else {
            throw ChatError(.forbidden, "only the creator sets managers")
        }
        try requireOutranks(actor, user)
        try requireNotCreator(user)
    }

    /// A room has its creator for life: not even the server API takes or changes that role.
    func requireNotCreator(_ user: UserID) throws(ChatError) {
        guard role(of: user) != .creator else { throw ChatError(.forbidden, "\(user) is the creator of \(room)") }
    }

    private func requireMayHoldRole(_ user: UserID, _ facts: CommandFacts) throws(ChatError) {
        if members[user]?.blacklisted == true {
            throw ChatError(.conflict, "\(user) is blacklisted in \(room)")
        }
        try requireRoomForFixed(user, facts)
    }

    /// Throws when one more fixed member would be too many.
    func requireRoomForFixed(_ user: UserID, _ facts: CommandFacts) throws(ChatError) {
        guard role(of: user).isFixed || members.fixedCount < facts.fixedMembersMax else {
            throw ChatError(.badParameter, "a room has at most \(facts.fixedMembersMax) fixed members")
        }
    }

    // MARK: - Records

    /// Changes what is remembered of a user and emits the row. A fixed member is one since it became so; a saved
    /// profile is for fixed members only.
    mutating func updateMember(
        _ user: UserID, _ outcome: inout Outcome, _ change: (inout MemberRecord) -> Void
    ) {
        let old = members[user]
        var record = old ?? MemberRecord(role: .none, since: outcome.time)
        change(&record)
        if record.effectiveRole.isFixed {
            if old?.effectiveRole.isFixed != true { record.since = outcome.time }
        } else {
            record.savedProfile = nil
        }
        let kept = record.isWorthKeeping ? record : nil
        members.set(kept, of: user)
        outcome.rows.append(
            CatalogueChange(
                kind: .member, key: user.text, value: kept.map { .member($0) }, deadline: kept?.deadline))
    }
}
