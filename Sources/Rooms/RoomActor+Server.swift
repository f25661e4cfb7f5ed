import ChatModel
import History
import RoomCore
import Wire

/// What the server API asks of a room.
extension RoomActor {
    func handle(_ call: ServerCall, at now: Timestamp) -> [Proposal] {
        touch()
        do throws(ChatError) {
            return try answer(call.body, at: now)
        } catch {
            call.fail(error)
            return []
        }
    }

    private func answer(_ body: ServerCall.Body, at now: Timestamp) throws(ChatError) -> [Proposal] {
        if case .command(let command, let actor, let id, let completion) = body {
            let proposal = proposal(command, actor, id, completion)
            try requireIsHere(proposal, at: now)
            if case .post(let draft) = command, case .combine(_, _, let messageIDs) = draft.body {
                // The app server is in no room: it combines what this room has.
                return propose(proposal, after: .copies(messageIDs, for: nil, from: [self.id]), holding: nil, at: now)
            }
            return [holdTarget(of: proposal)]
        }
        if case .recall(let lookup, let options, let actor, let id, let completion) = body {
            return propose(
                proposal(.recall([], options), actor, id, completion), after: lookup, holding: nil, at: now)
        }
        guard let view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
        switch body {
        case .command, .recall: break
        case .view(let completion): completion(.success(view))
        case .history(let request, let completion): page(request) { _, result in completion(result) }
        case .message(let messageID, let completion): find(messageID) { _, result in completion(result) }
        case .copies(let messageIDs, let user, let completion): copies(messageIDs, for: user, completion)
        case .members(let kind, let after, let limit, let completion):
            completion(.success(try members(kind, after: after, limit: limit, at: now)))
        case .member(let user, let completion):
            guard let member = member(user, at: now) else {
                throw ChatError(.notFound, "\(user) is not a member of \(id)")
            }
            completion(.success(member))
        case .queue(let request, let completion): completion(.success(try queuePage(request)))
        case .barrage(let item, let completion):
            guard !view.info.closed else { throw ChatError(.roomClosed, "\(id) is closed") }
            var item = item
            item.time = now
            item.from = item.from.map(completed)
            barrage.add(item, from: nil)
            touchBarrage()
            completion(.success(()))
        }
        return []
    }

    /// What the call leaves open of a sender follows from its stay, or from what it has saved.
    private func completed(_ given: Sender) -> Sender {
        var sender = given
        sender.role = presence.isAnonymous(given.user) ? .anonymous : state.role(of: given.user)
        guard let known = presence.profile(of: given.user) ?? state.memberRecord(of: given.user)?.savedProfile else {
            return sender
        }
        if given.profile.nick.isEmpty { sender.profile.nick = known.nick }
        if given.profile.avatar.isEmpty { sender.profile.avatar = known.avatar }
        return sender
    }

    private func proposal(
        _ body: CommandBody, _ actor: Actor, _ id: CommandID?,
        _ completion: @escaping @Sendable (Result<CommandResult, ChatError>) -> Void
    ) -> Proposal {
        Proposal(
            command: Command(
                id: id, room: self.id, actor: actor, body: body,
                facts: facts(body.namedUsers + [actor.user].compactMap { $0 }, body)),
            key: id.map(commandKey), origin: .server(completion))
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

    /// What its notification is to carry, as far as a recall that belongs to it carries it too.
    var notifyExt: String? {
        switch self {
        case .recall(_, let options), .setBlacklist(_, _, let options): options.notifyExt
        default: nil
        }
    }
}
