import ChatModel
import History
import RoomCore
import RoomLink
import Wire

/// What sessions ask of their room. Soft things are answered here; durable ones become proposals.
extension RoomActor {
    func handle(_ call: RoomCall, at now: Timestamp) -> [Proposal] {
        let key = PresenceKey(node: call.address.node, session: call.address.session)
        switch call.body {
        case .leave:
            touch()
            perform(presence.exit(key, at: now, info: state.info, lastSeq: state.lastSeq))
            return []
        case .moved:
            presence.move(key, toLane: call.address.lane)
            return []
        case .operation(let operation):
            return handle(operation, call, key, at: now)
        }
    }

    private func handle(_ operation: ClientOperation, _ call: RoomCall, _ key: PresenceKey, at now: Timestamp)
        -> [Proposal]
    {
        touch()
        do throws(ChatError) {
            if case .enter(let request) = operation {
                try enter(request, call, key, at: now)
                return []
            }
            guard let visitor = presence.visitor(key) else {
                throw ChatError(.notInRoom, "\(call.caller.user) is not in \(id)")
            }
            return try handle(operation, call, visitor, at: now)
        } catch {
            if case .enter = operation {
                tell(call, .entered(call.address.session, request: call.request, .failure(error)))
            } else if let request = call.request {
                tell(call, .reply(call.address.session, request: request, .failure(error)))
            }
            return []
        }
    }

    private func handle(_ operation: ClientOperation, _ call: RoomCall, _ visitor: Visitor, at now: Timestamp)
        throws(ChatError) -> [Proposal]
    {
        let actor = Actor.member(visitor.user, visitor.profile, anonymous: visitor.anonymous)
        switch operation {
        case .exit:
            perform(
                presence.exit(visitor.key, at: now, info: state.info, lastSeq: state.lastSeq))
            tell(call, .exited(call.address.session, request: call.request))
            return []
        case .send(let request):
            return [propose(.post(request.draft), actor, call, request.clientId, .send)]
        case .barrage(let request):
            try state.maySpeak(visitor.user, anonymous: visitor.anonymous, at: now)
            var item = BarrageItem(
                from: Sender(user: visitor.user, profile: visitor.profile, role: role(of: visitor)),
                text: request.text, time: now)
            item.ext = request.ext
            item.style = request.style
            item.priority = request.priority
            add(item, from: visitor.key)
            answer(call, .barrage)
            return []
        case .room:
            guard let view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
            answer(call, .room(RoomResult(room: view, seq: state.lastSeq)))
            return []
        case .history(let request):
            page(request.query) { [id] room, result in
                room.finishRead(call, result.map { .history(HistoryResult(messages: $0.messages, more: $0.more)) })
                _ = id
            }
            return []
        case .members(let request):
            guard !visitor.anonymous else { throw ChatError(.forbidden, "anonymous members can't list members") }
            if request.kind == .muted || request.kind == .blacklisted {
                guard state.role(of: visitor.user).rank > 0 else {
                    throw ChatError(.forbidden, "this listing is for managers")
                }
            }
            let page = try members(request.kind, after: request.after, limit: request.limit, at: now)
            answer(call, .members(MembersResult(members: page.items, next: page.next)))
            return []
        case .membersById(let request):
            guard !visitor.anonymous else { throw ChatError(.forbidden, "anonymous members can't list members") }
            answer(
                call, .membersById(MembersResult(members: request.users.compactMap { member($0, at: now) }, next: nil)))
            return []
        case .updateRoom(let request):
            return [
                propose(
                    .updateRoom(set: request.set, NotifyOptions(notify: request.notify, notifyExt: request.notifyExt)),
                    actor, call, request.clientId, .updateRoom)
            ]
        default:
            throw ChatError(.malformed, "this node does not know that operation yet")
        }
    }

    private func propose(
        _ body: CommandBody, _ actor: Actor, _ call: RoomCall, _ clientID: String?, _ shape: AnswerShape,
        users: [UserID] = []
    ) -> Proposal {
        // Without a clientId the request itself is the ID, so that a router's retry is safe.
        let text = clientID ?? "\(call.address.session)#\(call.request ?? 0)"
        let commandID = CommandID(scope: clientID == nil ? "" : call.caller.user.text, text: text)
        return Proposal(
            command: Command(id: commandID, room: id, actor: actor, body: body, facts: facts(users)),
            key: commandKey(commandID),
            origin: .session(SessionAddressAndRequest(address: call.address, request: call.request, operation: shape)))
    }

    // MARK: - Answers

    func tell(_ call: RoomCall, _ output: RoomOutput) {
        stream.tell(Lane(node: call.address.node, number: call.address.lane), output)
    }

    func answer(_ call: RoomCall, _ result: OperationResult) {
        guard let request = call.request else { return }
        tell(call, .reply(call.address.session, request: request, .success(result)))
    }

    func finishRead(_ call: RoomCall, _ result: Result<OperationResult, ChatError>) {
        guard let request = call.request else { return }
        tell(call, .reply(call.address.session, request: request, result))
    }

    // MARK: - Members

    func role(of visitor: Visitor) -> Role {
        visitor.anonymous ? .anonymous : state.role(of: visitor.user)
    }
}
