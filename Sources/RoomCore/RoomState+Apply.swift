import ChatModel

extension RoomState {
    /// Applies one committed command: decides it, changes the state, and says what follows. The effects' order is
    /// that of `Outcome`; the result is always the last one.
    ///
    /// A repeat within `Limits.commandMemorySeconds` gets the first result and nothing else, before any other check.
    /// A refused command changes nothing at all and is not remembered, so its ID can be used again.
    /// - Parameter key: the hash of the command's ID; nil when it has none and every try is a command of its own.
    public mutating func apply(_ command: Command, key: CommandKey?, at stamp: Stamp) -> [Effect] {
        if let key, let first = remembered(key, of: command, at: stamp.time) {
            return [.result(first)]
        }
        var outcome = Outcome(at: stamp)
        do throws(ChatError) {
            let result = try decide(command, key, &outcome)
            if let key { remember(result, of: key, for: command, &outcome) }
            prune(at: stamp.time, &outcome)
            return outcome.effects(result: result, roomRow: outcome.touchesRoom ? touchedRoom(at: stamp.time) : nil)
        } catch {
            return [.result(.refused(error))]
        }
    }

    /// Every refusal must be thrown before the first change.
    private mutating func decide(
        _ command: Command, _ key: CommandKey?, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        if case .createRoom(let creator, let set) = command.body {
            return try createRoom(creator, set, for: command, &outcome)
        }
        // Results outlive the room, and are swept without it.
        if case .expire = command.body { return try expire(for: command, &outcome) }
        // Debts to the webhook outlive the room.
        if case .webhookDelivered(let progress) = command.body { return webhookDelivered(progress, &outcome) }
        // These concern a deleted room.
        if case .undeleteRoom = command.body { return try undeleteRoom(for: command, &outcome) }
        if case .purgeRoom = command.body { return try purgeRoom(for: command, &outcome) }
        // A window that has been counted is answered as it was, also in a room that was closed or deleted since.
        if case .tap(let batch) = command.body { return try tap(batch, for: command, &outcome) }
        guard exists else { throw ChatError(.notFound, "there is no room \(room)") }
        switch command.body {
        // These concern a closed room too.
        case .createRoom, .expire, .webhookDelivered, .undeleteRoom, .purgeRoom, .tap:
            throw ChatError(.conflict, "the room \(room) exists")
        case .closeRoom(let options):
            return try closeRoom(options, for: command, &outcome)
        case .reopenRoom:
            return try reopenRoom(for: command, &outcome)
        case .deleteRoom:
            return try deleteRoom(for: command, &outcome)
        case .completeUpload(let mediaID, let digest, let isInline):
            return try completeUpload(mediaID, digest, isInline: isInline, for: command, &outcome)
        case .removeUpload(let mediaID):
            return try removeUpload(mediaID, for: command, &outcome)
        case .queueRemove(let versions):
            return try queueRemove(versions, for: command, &outcome)
        case .occupancy(let emptySince):
            return try setOccupancy(emptySince, for: command, &outcome)
        case .post(let draft):
            return try post(draft, key, for: command, &outcome)
        case .importMessages, .updateRoom, .recall, .pin, .amend, .decideHeld, .withdrawHeld, .tally, .report,
            .setManager,
            .setMember, .setRole, .setBlacklist,
            .setMute, .tempMute, .muteRoom, .kick, .updateMe, .queueSet, .queueSetMany, .queueTake, .queueClear,
            .addRobots, .removeRobots, .registerUpload, .openPoll, .vote, .closePoll:
            try requireOpen()
            try requireMayTakePart(command.actor, at: outcome.time)
            return try decideInOpenRoom(command, key, &outcome)
        }
    }

    private mutating func decideInOpenRoom(
        _ command: Command, _ key: CommandKey?, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        switch command.body {
        case .importMessages(let messages, let newest):
            return try importMessages(messages, after: newest, for: command, &outcome)
        case .updateRoom(let set, let options):
            return try updateRoom(set, options, for: command, &outcome)
        case .recall(let targets, let options):
            return try recall(targets, options, for: command, &outcome)
        case .pin(let messageID, let enable, let options):
            return try pin(messageID, enable: enable, options, for: command, &outcome)
        case .amend(let messageID, let set):
            return try amend(messageID, set, for: command, &outcome)
        case .report(let messageID, let reason):
            return try report(messageID, reason, for: command, &outcome)
        case .decideHeld(let heldID, let decision):
            return try decideHeld(heldID, decision, for: command, &outcome)
        case .withdrawHeld(let heldID):
            return try withdrawHeld(heldID, for: command, &outcome)
        case .tally(let key, let change):
            return try changeTally(key, change, for: command, &outcome)
        case .openPoll(let id, let draft, let options):
            return try openPoll(id, draft, options: options, for: command, outcome: &outcome)
        case .vote(let id, let option):
            return try vote(id, option: option, for: command, &outcome)
        case .closePoll(let id, let options):
            return try closePoll(id, options, for: command, &outcome)
        case .setManager(let user, let enable, let options):
            return try setManager(user, enable: enable, options, for: command, &outcome)
        case .setMember(let user, let enable, let options):
            return try setMember(user, enable: enable, options, for: command, &outcome)
        case .setRole(let user, let role, let options):
            return try setRole(user, to: role, options, for: command, &outcome)
        case .setBlacklist(let user, let enable, let options):
            return try setBlacklist(user, enable: enable, options, for: command, &outcome)
        case .setMute(let user, let enable, let options):
            return try setMute(user, enable: enable, options, for: command, &outcome)
        case .tempMute(let user, let seconds, let options):
            return try tempMute(user, seconds: seconds, options, for: command, &outcome)
        case .muteRoom(let enable, let options):
            return try muteRoom(enable: enable, options, for: command, &outcome)
        case .kick(let user, let seconds, let options):
            return try kick(user, banSeconds: seconds, options, for: command, &outcome)
        case .updateMe(let set, let save, let options):
            return try updateMe(set, save: save, options, for: command, &outcome)
        case .queueSet(let write, let options):
            return try queueSet(write, options, for: command, &outcome)
        case .queueSetMany(let pairs, let options):
            return try queueSetMany(pairs, options, for: command, &outcome)
        case .queueTake(let key, let options):
            return try queueTake(key, options, for: command, &outcome)
        case .queueClear(let options):
            return try queueClear(options, for: command, &outcome)
        case .addRobots(let robots):
            return try addRobots(robots, for: command, &outcome)
        case .removeRobots(let users):
            return try removeRobots(users, for: command, &outcome)
        case .registerUpload(let draft):
            return try registerUpload(draft, for: command, &outcome)
        case .post, .createRoom, .closeRoom, .reopenRoom, .deleteRoom, .undeleteRoom, .purgeRoom, .queueRemove,
            .occupancy, .expire, .webhookDelivered, .tap, .completeUpload, .removeUpload:
            throw ChatError(.internal, "this command does not belong here")
        }
    }

    // MARK: - Memory

    private mutating func remember(
        _ result: CommandResult, of key: CommandKey, for command: Command, _ outcome: inout Outcome
    ) {
        // A kept post is found again in history; anything else needs a row of its own.
        if case .post = command.body, case .posted(_, .kept(let seq), let time, let priority, _) = result {
            ledger.remember(CommandLedger.Post(seq: seq, time: time, priority: priority), of: key)
            return
        }
        guard let remembered = Self.remembered(result, of: command.body) else { return }
        let memory = CommandMemory(
            result: remembered, time: outcome.time, index: outcome.stamp.index,
            owner: CommandMemory.owner(command.actor))
        outcome.rows.append(
            CatalogueChange(
                kind: .command, key: key.text, value: .command(memory), deadline: CommandLedger.sweepTime(outcome.time))
        )
        for forgotten in ledger.remember(memory, of: key) {
            outcome.rows.append(CatalogueChange(kind: .command, key: forgotten.text, value: nil))
        }
    }

    mutating func prune(at now: Timestamp, _ outcome: inout Outcome) {
        for key in ledger.prune(at: now) {
            outcome.rows.append(CatalogueChange(kind: .command, key: key.text, value: nil))
        }
        // Each command comes by here, and few rooms have these.
        if !taps.lives.isEmpty {
            for life in taps.prune(at: now) { outcome.rows.append(tapsRow(life, nil)) }
        }
        for id in deleted?.denied.prune(at: now) ?? denied.prune(at: now) { outcome.rows.append(deniedRow(id, nil)) }
        guard !slow.times.isEmpty, let seconds = record?.info.slowModeSeconds else { return }
        for (user, spoken) in slow.prune(seconds: seconds, at: now) { outcome.rows.append(slowRow(user, spoken)) }
    }

    func slowRow(_ user: UserID, _ spoken: SlowMode.Spoken?) -> CatalogueChange {
        CatalogueChange(
            kind: .slow, key: user.text, value: spoken.map { .time($0.time) }, deadline: spoken?.sweepAt)
    }

    private mutating func touchedRoom(at now: Timestamp) -> Effect {
        guard exists else { return .catalogue(CatalogueChange(kind: .room, key: "", value: nil)) }
        record?.nextQueuePosition = queue.nextPosition
        record?.robots = Int64(robots.count)
        forgetOldKicks(at: now)
        return .roomChanged
    }

    /// The room's own row; nil while there is no room.
    public var roomRow: CatalogueChange? {
        record.map { CatalogueChange(kind: .room, key: "", value: .room($0), deadline: $0.deadline) }
    }
}
