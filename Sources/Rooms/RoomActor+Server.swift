import ChatModel
import History
import RoomCore
import RoomLink
import RoomStream
import Wire

/// Calls of the server API to a room.
extension RoomActor {
    func handle(_ call: ServerCall, at now: Timestamp) -> [Proposal] {
        touch()
        do throws(ChatError) {
            return try answer(call, at: now)
        } catch {
            call.fail(error)
            return []
        }
    }

    private func answer(_ call: ServerCall, at now: Timestamp) throws(ChatError) -> [Proposal] {
        let completion = call.completion
        let decided: @Sendable (Result<CommandResult, ChatError>) -> Void = { completion($0.map(RoomAnswer.command)) }
        if case .command(let command, let actor, let profile, let moderate, let id) = call.question {
            return try propose(command, actor, showing: profile, moderate, known(id, at: now), decided, at: now)
        }
        if case .recall(let scope, let options, let actor, let id) = call.question {
            return propose(
                proposal(.recall([], options), actor, nil, known(id, at: now), decided), after: FactLookup(scope),
                holding: nil, at: now)
        }
        guard let view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
        switch call.question {
        case .command, .recall: break
        case .view: completion(.success(.view(view)))
        case .history(let request): page(request) { _, result in completion(result.map(RoomAnswer.history)) }
        case .message(let messageID): find(messageID) { _, result in completion(result.map(RoomAnswer.message)) }
        case .copies(let messageIDs, let user):
            copies(messageIDs, for: user) { completion($0.map(RoomAnswer.copies)) }
        case .members(let kind, let after, let limit):
            completion(.success(.members(try members(kind, after: after, limit: limit, at: now, for: nil))))
        case .member(let user):
            guard let member = member(user, at: now, for: nil) else {
                throw ChatError(.notFound, "\(user) is not a member of \(id)")
            }
            completion(.success(.member(member)))
        case .queue(let after, let limit):
            let request = QueueRequest(room: id, after: after, limit: Int64(limit))
            completion(.success(.queue(try queuePage(request))))
        case .explain: completion(.success(.explain(figures(view))))
        case .barrage(let item):
            guard !view.info.closed else { throw ChatError(.roomClosed, "\(id) is closed") }
            show(item, at: now)
            completion(.success(.done))
        }
        return []
    }

    /// Before the server API's IDs named the call, they had a scope in common: what was done then is found again during
    /// an upgrade.
    private func known(_ id: CommandID?, at now: Timestamp) -> CommandID? {
        guard let id, id.scope.hasPrefix("/api ") else { return id }
        let former = CommandID(scope: "/api", text: id.text)
        return state.remembers(commandKey(former), at: now) ? former : id
    }

    private func propose(
        _ body: CommandBody, _ actor: Actor, showing profile: Profile?, _ moderate: Bool, _ id: CommandID?,
        _ completion: @escaping @Sendable (Result<CommandResult, ChatError>) -> Void, at now: Timestamp
    ) throws(ChatError) -> [Proposal] {
        var proposal = proposal(body, actor, profile, id, completion)
        // A user that the first try kicked is not here for the second, which is answered like the first.
        if let key = proposal.key, let first = state.remembered(key, of: proposal.command, at: now) {
            answer(.server(completion), first, isRepeat: true)
            return []
        }
        proposal.moderate = moderate
        try requireTarget(of: proposal, at: now)
        if let messageIDs = body.combinedMessages {
            // The app server is in no room: it combines what this room has.
            return propose(proposal, after: .copies(messageIDs, for: nil, from: [self.id]), holding: nil, at: now)
        }
        let proposals = try moderated(proposal, holding: nil, at: now)
        return takeLate() + proposals
    }

    /// The profile of a sender that the server API names: the given one, else the stay's, else the saved one.
    private func shown(_ given: Profile, of user: UserID) -> Profile {
        given.filled(from: presence.profile(of: user) ?? state.memberRecord(of: user)?.savedProfile ?? Profile())
    }

    private func figures(_ view: RoomView) -> StateFigures {
        var figures = StateFigures()
        figures.closed = view.info.closed
        figures.muted = view.info.muted
        figures.slowModeSeconds = view.info.slowModeSeconds
        figures.online = view.online
        figures.sessions = Int64(presence.sessionCount)
        figures.robots = Int64(state.robotCount)
        figures.digestAboveOnline = Int64(context.policy.digestAboveOnline)
        figures.enterExitNotify = view.info.enterExitNotify
        figures.viewerBudget = view.info.viewerBudget ?? Int64(context.policy.viewerBudgetPerSecond)
        figures.viewerBudgetAboveOnline = Int64(context.policy.viewerBudgetAboveOnline)
        figures.lastSeq = state.lastSeq
        figures.lastMessageAt = tail.last?.time
        figures.activeSince = activatedAt
        figures.barrageShown = barrageShown
        figures.barrageDropped = barrageDropped
        figures.messagesDropped = messagesDropped
        return figures
    }

    private func show(_ given: BarrageItem, at now: Timestamp) {
        var item = given
        item.time = now
        if let sender = given.from {
            let role = presence.isAnonymous(sender.user) ? Role.anonymous : state.role(of: sender.user).shownToOthers
            item.from = Sender(user: sender.user, profile: shown(sender.profile, of: sender.user), role: role)
        }
        barrage.add(item, from: nil)
        touchBarrage()
    }

    private func proposal(
        _ body: CommandBody, _ actor: Actor, _ profile: Profile?, _ id: CommandID?,
        _ completion: @escaping @Sendable (Result<CommandResult, ChatError>) -> Void
    ) -> Proposal {
        var facts = facts(body.namedUsers + [actor.user].compactMap { $0 }, body)
        if let user = actor.user, let profile { facts.names[user] = shown(profile, of: user) }
        return Proposal(
            command: Command(id: id, room: self.id, actor: actor, body: body, facts: facts), key: id.map(commandKey),
            origin: .server(completion))
    }
}

extension CommandBody {
    /// Users whose names its notification shows.
    var namedUsers: [UserID] {
        switch self {
        case .setManager(let user, _, _), .setMember(let user, _, _), .setRole(let user, _, _),
            .setBlacklist(let user, _, _), .setMute(let user, _, _), .tempMute(let user, _, _), .kick(let user, _, _):
            [user]
        default: []
        }
    }

    /// The messages that a COMBINE names; nil for everything else.
    var combinedMessages: [String]? {
        guard case .post(let draft) = self, case .combine(_, _, let messageIDs) = draft.body else { return nil }
        return messageIDs
    }

    /// The `notifyExt` of its notification, which a recall that belongs to it carries too.
    var notifyExt: String? {
        switch self {
        case .recall(_, let options), .setBlacklist(_, _, let options): options.notifyExt
        default: nil
        }
    }
}
