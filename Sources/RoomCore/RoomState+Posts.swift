import ChatModel

/// Messages from people, and taking them back.
extension RoomState {
    mutating func post(
        _ draft: MessageDraft, _ key: CommandKey?, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        var speaker = Role.guest
        if case .member(let user, _, let anonymous) = command.actor {
            speaker = try role(ofSpeaker: user, anonymous: anonymous, at: outcome.time)
        } else {
            try requireOpen()
        }
        switch draft.body {
        case .notification, .recalled, .unknown:
            throw ChatError(.badParameter, "only the room sends notifications", field: "type")
        case .text, .tip, .command, .image, .audio, .video, .file, .location, .custom, .combine:
            break
        }
        guard !draft.mentionAll || isManager(command.actor) else {
            throw ChatError(.forbidden, "mentionAll is for creator and managers", field: "mentionAll")
        }
        let replyTo = try draft.replyTo.map { (id: String) throws(ChatError) in try reference(id, command.facts) }
        let body = try completed(draft.body)
        try requireMayAdopt(command)
        if let policy = command.facts.hold {
            // HIGH counts when it becomes a message.
            let heldID = MessageID.held(record?.incarnation ?? Incarnation(0), index: outcome.stamp.index).text
            let fields = MessageFields(
                room: room, place: .outside, messageID: heldID, clientID: clientID(command), time: outcome.time,
                from: sender(command, speaker), body: body,
                priority: draft.priority == .high && !isManager(command.actor) ? .normal : draft.priority,
                draft: draft, replyTo: replyTo)
            let bytes = command.facts.copies.reduce(HeldRecord.bytes(Message(fields))) { $0 + HeldRecord.bytes($1) }
            try requireMayHold(draft, bytes)
            try passSlowMode(command.actor, &outcome)
            return hold(fields, policy, key: key, for: command, outcome: &outcome)
        }
        if draft.isKept { try requireMayRefer(to: body, copies: command.facts.copies) }
        try passSlowMode(command.actor, &outcome)

        let priority = acceptedPriority(draft.priority, for: command, &outcome)
        let place: MessagePlace
        let messageID: String
        if draft.isKept {
            let kept = nextKept()
            place = .kept(seq: kept.seq)
            messageID = kept.messageID
        } else {
            place = .unkept(after: lastSeq)
            messageID = nextUnkeptID(outcome.stamp)
        }
        adoptShared(command, &outcome)
        refer(to: body, copies: command.facts.copies, place, keptSince: command.facts.keptSince, &outcome)
        let message = Message(
            MessageFields(
                room: room, place: place, messageID: messageID, clientID: clientID(command), time: outcome.time,
                from: sender(command, speaker), body: body, priority: priority, draft: draft, replyTo: replyTo))
        if draft.isKept {
            keep(message, key: key, for: command, &outcome)
        } else {
            outcome.shown.append(message)
        }
        return .posted(
            messageID: messageID, place: place, time: outcome.time, priority: priority,
            delivered: draft.to.isEmpty ? nil : command.facts.delivered)
    }

    /// - Parameter speaker: the role of a member.
    private func sender(_ command: Command, _ speaker: Role) -> Sender? {
        switch command.actor {
        case .system, .moderator:
            return nil
        case .server(let name):
            var profile = profile(of: name.user, command.facts)
            if !name.nick.isEmpty { profile.nick = name.nick }
            return Sender(user: name.user, profile: profile, role: role(of: name.user).shownToOthers)
        case .member(let user, let profile, _):
            return Sender(user: user, profile: profile, role: speaker.shownToOthers)
        }
    }

    /// The ID that a client chose, shown with the message; not what a gateway or the server API made up.
    private func clientID(_ command: Command) -> String? {
        guard case .member(let user, _, _) = command.actor, let id = command.id, id.scope == user.text else {
            return nil
        }
        return id.text
    }

    /// One message per user in `slowModeSeconds`, kept or not; managers are exempt.
    mutating func passSlowMode(
        _ actor: Actor, _ outcome: inout Outcome
    ) throws(ChatError) {
        guard case .member(let user, _, _) = actor, let seconds = record?.info.slowModeSeconds, seconds > 0,
            !isManager(actor)
        else { return }
        if let wait = slow.wait(of: user, seconds: seconds, at: outcome.time) {
            throw ChatError(
                .tooOften, "slow mode: one message in \(seconds) s, the next in \(Self.seconds(wait)) s",
                retryAfterMs: wait)
        }
        let spoken = SlowMode.Spoken(
            time: outcome.time, sweepAt: SlowMode.sweepTime(outcome.time, seconds: seconds))
        slow.note(user, spoken)
        outcome.rows.append(slowRow(user, spoken))
    }

    /// HIGH is for creator, managers and the server API, and only so many times in any second: the room's `highPerSecond`, else
    /// the leader's `highPerSecondMax`.
    private mutating func acceptedPriority(
        _ asked: Priority, for command: Command, _ outcome: inout Outcome
    ) -> Priority {
        guard asked == .high else { return asked }
        let ofServer = if case .member = command.actor { false } else { true }
        guard isManager(command.actor) else { return .normal }
        return counted(asked, ofServer: ofServer, most: command.facts.highPerSecondMax, &outcome)
    }

    /// HIGH as long as there are not too many in this second.
    /// - Parameter most: where the room says nothing.
    mutating func counted(
        _ asked: Priority, ofServer: Bool, most: Int, _ outcome: inout Outcome
    ) -> Priority {
        let list = ofServer ? \RoomRecord.recentServerHigh : \RoomRecord.recentHigh
        guard var recent = record?[keyPath: list] else { return .normal }
        recent.removeAll { $0.adding(seconds: 1) <= outcome.time }
        let most = record?.info.highPerSecond.map { Int(clamping: $0) } ?? most
        guard recent.count < most else { return .normal }
        recent.append(outcome.time)
        record?[keyPath: list] = recent
        outcome.touchesRoom = true
        return .high
    }

    // MARK: - Recall

    /// Takes messages back: one 323 for all of them. Which of them exist, whose and how old they are, is history's
    /// knowledge: the leader looks it up, leaves out what is already recalled, and states the rest as facts. With
    /// none left nothing happens.
    mutating func recall(
        _ targets: [RecallTarget], _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard let incarnation else { throw ChatError(.notFound, "there is no room \(room)") }
        for target in targets {
            try requireMayRecall(target, command, outcome.stamp)
        }
        erase(targets, of: incarnation, options, for: command, &outcome)
        return .done
    }

    /// Takes the bodies of messages away and tells it in one 323.
    mutating func erase(
        _ targets: [RecallTarget], of incarnation: Incarnation, _ options: NotifyOptions, for command: Command,
        _ outcome: inout Outcome
    ) {
        guard !targets.isEmpty else { return }
        var senders: [UserID] = []
        var known: Set<UserID> = []
        for target in targets {
            outcome.history.append(.erase(seq: target.seq, day: target.day))
            if let sender = target.sender, known.insert(sender).inserted { senders.append(sender) }
        }
        let messageIDs = targets.map { MessageID.kept(incarnation, seq: $0.seq).text }
        unpin(Set(targets.map(\.seq)), &outcome)
        unrefer(targets.map(\.seq), &outcome)
        unquoteReports(of: targets.map(\.seq), &outcome)
        unquoteHeld(Set(targets.map(\.seq)), &outcome)
        notify(.recalled, options, of: senders, data: .recalled(messageIDs: messageIDs), for: command, &outcome)
    }

    func requireMayRecall(_ target: RecallTarget, _ command: Command, _ stamp: Stamp) throws(ChatError) {
        guard target.seq > 0, target.seq <= lastSeq else { throw ChatError(.notFound, "there is no such message") }
        guard target.type != .notification else { throw ChatError(.forbidden, "a notification can't be recalled") }
        guard case .member(let user, _, _) = command.actor else { return }
        if user == target.sender {
            let end = target.time.adding(seconds: command.facts.recallWindowSeconds)
            guard isManager(command.actor) || stamp.time <= end else {
                throw ChatError(
                    .forbidden, "a message can be recalled for \(command.facts.recallWindowSeconds) s only")
            }
            return
        }
        try requireManager(command.actor)
        guard let sender = target.sender else {
            throw ChatError(.forbidden, "nobody acts on an equal or higher rank")
        }
        try requireOutranks(command.actor, sender)
    }
}
