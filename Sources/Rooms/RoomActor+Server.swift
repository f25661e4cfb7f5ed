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
            try requireIsHere(command)
            return [
                Proposal(
                    command: Command(
                        id: id, room: self.id, actor: actor, body: command,
                        facts: facts(command.namedUsers + [actor.user].compactMap { $0 })),
                    key: id.map(commandKey), origin: .server(completion))
            ]
        }
        guard let view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
        switch body {
        case .command: break
        case .view(let completion): completion(.success(view))
        case .history(let request, let completion): page(request) { _, result in completion(result) }
        case .message(let messageID, let completion): readMessage(messageID, completion)
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

    private func readMessage(_ text: String, _ completion: @escaping @Sendable (Result<Message, ChatError>) -> Void) {
        guard case .kept(let incarnation, let seq)? = MessageID.parse(text), incarnation == state.incarnation else {
            return completion(.failure(ChatError(.notFound, "there is no message \(text) in \(id)")))
        }
        storage.message(incarnation, seq: seq) { [id] result in
            guard case .success(let row) = result else {
                return completion(.failure(ChatError(.internal, "history can't be read")))
            }
            guard let row, let message = try? HistoryCodec.decode(row.payload) else {
                return completion(.failure(ChatError(.notFound, "there is no message \(text) in \(id)")))
            }
            completion(.success(message))
        }
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
}
