import ChatModel
import GroupDriver
import History
import RoomCore
import RoomProtocol
import Telemetry
import Wire

extension RoomRequest.Body {
    /// Whether nobody is at the other end any more; also while the session's calls wait for what it reads.
    fileprivate func endsReads(_ visitor: @autoclosure () -> Visitor?, from address: SessionAddress) -> Bool {
        switch self {
        case .leave: true
        // One that has come back on another lane is not away.
        case .away: visitor().map { $0.laneNumber == address.lane } ?? true
        default: false
        }
    }

    fileprivate var isBarrage: Bool { if case .operation(.barrage) = self { true } else { false } }

    /// The user who must not be on the way out: who enters, and who is to be seated.
    fileprivate func user(enteringAs caller: UserID) -> UserID? {
        switch self {
        case .operation(.enter): caller
        case .operation(.queueSet(let request)): request.owner
        default: nil
        }
    }

    /// Whether it is answered without the log, and yet not before the session's changes.
    fileprivate func comesAfterChanges(ofVisitor isHere: @autoclosure () -> Bool) -> Bool {
        guard case .operation(let operation) = self else { return false }
        return switch operation {
        // Most enters are a session's first word.
        case .enter: isHere()
        case .exit, .room, .members, .membersById, .queue, .held, .history, .message, .search, .combined, .mediaToken:
            true
        default: false
        }
    }
}

/// Requests to the room. Soft things are answered here; durable ones become proposals.
extension RoomActor {
    func handle(_ request: RoomRequest, isInOrder: Bool = false, at now: Timestamp) {
        switch request.origin {
        case .session(let session):
            handle(request.body, session, isInOrder: isInOrder, at: now)
            // A message that is proposed, and nothing else, is published when it is applied.
            if case .operation(.send) = request.body, inPlace(&stream, { $0.isEmpty }), turn.answers.isEmpty,
                turn.waitingReads.isEmpty
            {
                return
            }
            touch()
        case .server(let server):
            touch()
            do throws(ChatError) {
                try perform(request.body, server, at: now)
            } catch {
                answer(server, .failure(error))
            }
        }
    }

    /// - Parameter isInOrder: whether it has waited for what the session had asked before.
    private func handle(_ body: RoomRequest.Body, _ call: SessionOrigin, isInOrder: Bool, at now: Timestamp) {
        let key = PresenceKey(call.address)
        if case .barrages(let batch) = body {
            return take(batch, from: Lane(node: call.address.node, number: call.address.lane), at: now)
        }
        if case .taps(let batch) = body {
            return take(batch, from: Lane(node: call.address.node, number: call.address.lane))
        }
        if settleCopies(body, call, key) { return }
        if body.endsReads(presence.visitor(key), from: call.address) { cancelReads(of: key) }
        // A client need not wait for its enter's answer: what it asks next comes after it.
        if entering.arrivals.contains(key) { settleArrivals() }
        if let user = body.user(enteringAs: call.caller.user) { holdIfThrownOut(user, key) }
        if waiting.holds[key] != nil, !(body.isBarrage && mayThrow(key)) { return wait(body, call, key) }
        if !isInOrder, body.comesAfterChanges(ofVisitor: presence.has(key)), waiting.undecided.mayHave(key.session) {
            holdForChanges(key)
            return wait(body, call, key)
        }
        switch body {
        case .barrages, .taps: break
        case .leave: exit(key, at: now)
        case .moved(let former): move(key, call, from: former)
        case .announce(let stay): announce(stay, call, key)
        case .follow(let place):
            follow(place, Lane(node: call.address.node, number: call.address.lane), number: call.number)
        case .away:
            // One that has come back on another lane is not away.
            if presence.visitor(key)?.laneNumber == call.address.lane { presence.setAway(key, at: context.now()) }
        case .operation(.enter(let request)):
            do throws(ChatError) {
                try enter(request, call, key, at: now)
            } catch {
                notify(call, .entered(call.address.session, request: call.request, .failure(error)))
            }
        case .operation(.exit(_)) where presence.visitor(key) == nil:
            // Its gateway asks again because it has not heard that the session has left.
            notify(call, .exited(call.address.session, request: call.request))
        case .operation(let operation):
            do throws(ChatError) {
                guard let visitor = inPlace(&presence, { $0.visitor(key) }) else {
                    // A session that was put out behind what it had asked hears that it was done: the leader that had
                    // proposed it may have died, and its successor is asked again after it has applied both.
                    let caller = call.caller
                    let actor = Actor.member(caller.user, Profile(), anonymous: caller.anonymous)
                    if let change = operation.change, answerRepeat(proposal(change, call, actor), at: now) { return }
                    throw ChatError(.notInRoom, "\(call.caller.user) is not in \(id)")
                }
                try handle(operation, call, visitor, at: now)
            } catch {
                if case .send = operation { context.figures.refused.add() }
                reply(call, .failure(error))
            }
        case .server: reply(call, .failure(ChatError(.forbidden, "this operation is the server API's")))
        }
    }

    /// The gateway has judged, too; but it may have stood still since, with the request in its hands.
    func requireVoice(of visitor: Visitor, at now: Timestamp) throws(ChatError) {
        guard let found = context.silencing(visitor.user) else { return }
        throw found.sanction.refusal(of: visitor.user, found.kind, at: now)
    }

    private func handle(_ operation: ClientOperation, _ call: SessionOrigin, _ visitor: Visitor, at now: Timestamp)
        throws(ChatError)
    {
        if let given = operation.change {
            let change = withdrawing(consume given)
            // One reference only when it is handed on: what is asked of it here would be asked of a copy.
            let made = proposal(change, call, .member(visitor.user, visitor.profile, anonymous: visitor.anonymous))
            if answerRepeat(made, at: now) { return }
            if let refusal = call.refusal { throw refusal }
            if operation.needsVoice { try requireVoice(of: visitor, at: now) }
            if let wait = call.overRateMs {
                throw ChatError(.tooOften, "too many requests, wait \(wait) ms", retryAfterMs: wait)
            }
            try requireTarget(of: made, at: now)
            guard let lookup = lookup(of: change, call) else {
                // Nothing more is asked about most messages.
                if !moderates, case .post = made.command.body { return propose(ProposedCommand(consume made)) }
                if let ready = try moderated(made, holding: visitor.key, at: now) { propose(consume ready) }
                return
            }
            try requireMayLookUp(for: made.command)
            return propose(made, after: lookup, holding: visitor.key, at: now)
        }
        switch operation {
        case .exit:
            // An exit that is asked once more, behind an enter that the session has asked for since, has been done.
            if call.number == 0 || call.number > visitor.enteredBy { exit(visitor.key, at: now) }
            notify(call, .exited(call.address.session, request: call.request))
        case .barrage(let request):
            try speakBarrage(request, call, visitor, at: now)
        case .room:
            guard let view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
            var result = RoomResult(room: view)
            result.seq = state.lastSeq
            reply(call, .success(.room(result)))
        case .history(let request):
            try requireReached(visitor)
            read(call, visitor) { room, reader throws(ChatError) in
                let page = try await room.page(request.query, for: reader)
                return .history(MessagesResult(messages: page.messages, more: page.more))
            }
        case .members(let request):
            try requireMayList(request.kind, visitor)
            reply(call, .success(.members(try membersInFrame(request, at: now, for: visitor.user))))
        case .membersById(let request):
            try requireMayList(.fixed, visitor)
            reply(call, .success(.membersById(try membersInFrame(request, at: now, for: visitor.user))))
        case .mediaToken:
            if !context.cluster.level.brings(.media) { throw .upgrading(.media) }
            // The gateway makes it: whoever is here may have one.
            reply(call, .success(.mediaToken(MediaToken(token: "", expiresAt: .blank))))
        case .queue(let request):
            reply(call, .success(.queue(try queueInFrame(request))))
        case .held(let request):
            try requireManager(visitor.user)
            reply(call, .success(.held(try heldInFrame(request))))
        case .message(let request):
            try requireReached(visitor)
            read(call, visitor) { room, reader throws(ChatError) in
                .message(MessageResult(message: try await room.message(request.messageID, for: reader)))
            }
        case .search(let request):
            try requireManager(visitor.user)
            try requireReached(visitor)
            read(call, visitor) { room, reader throws(ChatError) in .search(try await room.search(request, for: reader))
            }
        case .combined(let request):
            try requireReached(visitor)
            read(call, visitor) { room, reader throws(ChatError) in
                .combined(MessagesResult(messages: try await room.combined(request.messageID, for: reader)))
            }
        default:
            throw ChatError(.forbidden, "this operation is not available on this node")
        }
    }

    /// A session reads history.
    private func read(
        _ call: SessionOrigin, _ visitor: Visitor,
        _ work: @escaping @Sendable (isolated RoomActor, HistoryReader) async throws(ChatError) -> OperationResult
    ) {
        let reader = beginReading(visitor.key)
        begin { room in
            let result: Result<OperationResult, ChatError>
            do throws(ChatError) {
                result = .success(try await work(room, reader))
            } catch {
                result = .failure(error)
            }
            room.endReading(visitor.key, reader)
            room.reply(call, result)
        }
    }

    /// The messages of a COMBINE are in the rooms of the session that sends it.
    private func lookup(of change: OperationChange, _ call: SessionOrigin) -> FactLookup? {
        switch change.lookup {
        case .message(let messageID)?: return .message(messageID)
        case .messages(let user)?: return .messages(of: user, since: nil)
        case nil: break
        }
        if case .registerUpload(let draft) = change.body { return .uploadUse(call.caller.user, bytes: draft.size) }
        guard let messageIDs = change.body.combinedMessages else {
            return neededOriginal(of: change.body) == nil && unsettled(in: change.body).isEmpty ? nil : .original
        }
        return .copies(messageIDs, for: call.caller.user, from: call.rooms)
    }

    /// Answers a call that is in the log already, and needs no second place there.
    func answerRepeat(_ proposal: Proposal, at now: Timestamp) -> Bool {
        guard let key = proposal.key, let first = inPlace(&state, { $0.remembered(key, of: proposal.command, at: now) })
        else {
            return false
        }
        answer(proposal.origin, first, isRepeat: true)
        return true
    }

    private func proposal(_ change: OperationChange, _ call: SessionOrigin, _ actor: Actor) -> Proposal {
        // A request's own ID may come again, in a later request of the same session; its number does not. No user can
        // have the scope, which is outside the alphabet.
        let commandID =
            change.clientID.map { CommandID(scope: call.caller.user.text, text: $0) }
            ?? (call.number > 0
                ? CommandID(scope: "/session/\(call.address.session)", text: "\(call.number)") : nil)
        return Proposal(
            command: Command(
                id: commandID, room: id, actor: actor, body: change.body,
                facts: facts(change.body.namedUsers, change.body)),
            key: commandID.map(commandKey),
            origin: .session(SessionRequest(address: call.address, request: call.request, answer: change.answer)),
            slot: UndecidedChanges.slot(of: call.address.session),
            moderate: true)
    }

    // MARK: - Answers

    func notify(_ call: SessionOrigin, _ output: RoomOutput) {
        stream.notify(Lane(node: call.address.node, number: call.address.lane), output)
    }

    func reply(_ call: SessionOrigin, _ result: Result<OperationResult, ChatError>) {
        guard let request = call.request else { return }
        notify(call, .reply(call.address.session, request: request, result))
    }
}
