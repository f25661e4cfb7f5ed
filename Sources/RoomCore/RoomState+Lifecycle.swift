import ChatModel

/// The room as a whole: created, changed, muted, closed, deleted.
extension RoomState {
    mutating func createRoom(
        _ creator: UserID, _ set: RoomChanges, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        guard !exists else { throw ChatError(.conflict, "the room \(room) exists") }
        try validate(set)
        // Its ID is taken again: the room of before can't be had back any more.
        purge(&outcome)
        var info = RoomInfo(id: room, creator: creator, createdAt: outcome.time)
        set.apply(to: &info)
        record = RoomRecord(info: info, incarnation: Incarnation(of: room, createdAt: outcome.stamp.index))
        record?.emptySince = outcome.time
        if let days = set.historyDays { record?.lives.begin(days) }
        updateMember(creator, &outcome) { $0.role = .creator }
        owe(.created, for: command, &outcome)
        outcome.touchesRoom = true
        return .room(info)
    }

    /// A set without any field changes nothing and tells nobody; setting what is already so is told all the same.
    mutating func updateRoom(
        _ given: RoomChanges, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        var set = given
        if case .member = command.actor {
            try requireManager(command.actor)
            // They are no fields of the client's operation, and unknown fields are ignored.
            set.entry = nil
            set.idleCloseSeconds = nil
            set.viewerBudget = nil
            set.highPerSecond = nil
            set.seatsPerUser = nil
            set.historyDays = nil
        }
        try validate(set)
        guard var info = record?.info else { throw ChatError(.notFound, "there is no room \(room)") }
        guard set != RoomChanges() else { return .room(info) }
        if let days = set.historyDays {
            let former = info.historyDays ?? standardDays(command.facts, at: outcome.time)
            try record?.lives.change(from: former, to: days, at: outcome.time)
        }
        let idleCloseSeconds = info.idleCloseSeconds
        set.apply(to: &info)
        record?.info = info
        // Nobody has kept count until now: the time begins here, and ends when the leader says that somebody is here.
        if info.idleCloseSeconds != idleCloseSeconds { record?.emptySince = outcome.time }
        outcome.touchesRoom = true
        notify(.roomInfoUpdated, options, data: .room(set: set), for: command, &outcome)
        return .room(info)
    }

    /// The life of messages of rooms that have none of their own, as the leader states it.
    private func standardDays(_ facts: CommandFacts, at time: Timestamp) -> Int64 {
        let life = facts.keptSince.map { time.milliseconds(since: $0) } ?? Self.lifeMilliseconds
        return max(1, life / Timestamp.millisecondsPerDay)
    }

    private func validate(_ set: RoomChanges) throws(ChatError) {
        for (value, field) in [
            (set.slowModeSeconds, "slowModeSeconds"), (set.idleCloseSeconds, "idleCloseSeconds"),
            (set.viewerBudget, "viewerBudget"), (set.seatsPerUser, "seatsPerUser"),
        ] {
            if let value, value < 0 {
                throw ChatError(.badParameter, "\(field) is at least 0", field: field)
            }
        }
        if let days = set.historyDays, !(1...Limits.historyDays).contains(days) {
            throw ChatError(.badParameter, "historyDays is 1 to \(Limits.historyDays)", field: "historyDays")
        }
    }

    /// Closing a closed room answers and does nothing. Everybody is kicked, so all transient elements go.
    mutating func closeRoom(
        _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        if record?.info.closed == false { close(options, for: command, &outcome) }
        return try roomResult()
    }

    private mutating func close(
        _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) {
        record?.info.closed = true
        noteKickOfAll(&outcome)
        notify(.roomClosed, options, for: command, &outcome)
        owe(.closed, for: command, &outcome)
        removeElements(queue.transientElements, for: command, &outcome)
        forgetRobots(robots.keys, &outcome)
        denyAllHeld(&outcome)
        outcome.endings.append(.kickAll(reason: .roomClosed, ext: options.notifyExt))
    }

    /// Closes the room when nobody has been in it for `idleCloseSeconds`.
    mutating func closeIfIdle(for command: Command, _ outcome: inout Outcome) {
        guard let idleDeadline, idleDeadline <= outcome.time else { return }
        close(NotifyOptions(), for: command, &outcome)
    }

    mutating func setOccupancy(
        _ emptySince: Timestamp?, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        record?.emptySince = emptySince
        outcome.touchesRoom = true
        return .done
    }

    mutating func reopenRoom(for command: Command, _ outcome: inout Outcome) throws(ChatError)
        -> CommandResult
    {
        try requireServer(command.actor)
        if record?.info.closed == true {
            record?.info.closed = false
            record?.emptySince = outcome.time
            outcome.touchesRoom = true
            owe(.reopened, for: command, &outcome)
        }
        return try roomResult()
    }

    private func roomResult() throws(ChatError) -> CommandResult {
        guard let info = record?.info else { throw ChatError(.notFound, "there is no room \(room)") }
        return .room(info)
    }

    mutating func deleteRoom(for command: Command, _ outcome: inout Outcome) throws(ChatError)
        -> CommandResult
    {
        try requireServer(command.actor)
        guard let incarnation else { throw ChatError(.notFound, "there is no room \(room)") }
        // A 320 tells those who go on from a `since` of before when the room is back. The webhook gets it, too, so it comes
        // before the debt of this life is closed.
        if command.facts.keepDeletedSeconds > 0, command.facts.tellsGoneElements {
            removeElements(queue.transientElements, for: command, &outcome)
        }
        oweDeletion(for: command, &outcome)
        if command.facts.keepDeletedSeconds > 0 {
            keepDeleted(for: command, &outcome)
            outcome.endings = [.kickAll(reason: .roomClosed, ext: nil)]
            return .done
        }
        forgetHeld(&outcome)
        becomeAbsent()
        // The room's row goes, and with it all others but the results of commands.
        outcome.touchesRoom = true
        outcome.endings = [.kickAll(reason: .roomClosed, ext: nil), .retire(incarnation)]
        return .done
    }

    mutating func muteRoom(
        enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireManager(command.actor)
        guard record?.info.muted != enable else { return .done }
        record?.info.muted = enable
        outcome.touchesRoom = true
        notify(enable ? .roomMuted : .roomUnmuted, options, for: command, &outcome)
        return .done
    }
}

extension RoomChanges {
    /// Sets what is given. A `viewerBudget` of 0 gives the node's setting back.
    func apply(to info: inout RoomInfo) {
        if let name { info.name = name }
        if let announcement { info.announcement = announcement }
        if let ext { info.ext = ext }
        if let broadcastUrl { info.broadcastUrl = broadcastUrl }
        if let entry { info.entry = entry }
        if let queueLevel { info.queueLevel = queueLevel }
        if let enterExitNotify { info.enterExitNotify = enterExitNotify }
        if let slowModeSeconds { info.slowModeSeconds = slowModeSeconds }
        if let idleCloseSeconds { info.idleCloseSeconds = idleCloseSeconds }
        if let viewerBudget { info.viewerBudget = viewerBudget == 0 ? nil : viewerBudget }
        if let highPerSecond { info.highPerSecond = highPerSecond }
        if let seatsPerUser { info.seatsPerUser = seatsPerUser }
        if let historyDays { info.historyDays = historyDays }
    }
}
