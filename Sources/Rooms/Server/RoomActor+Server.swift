import ChatModel
import History
import RoomCore
import RoomProtocol
import Wire

/// Requests of the server API to the room: those of clients that read, without being here and not cut to a frame, and
/// its own.
extension RoomActor {
    func perform(_ body: RoomRequest.Body, _ to: ServerOrigin, at now: Timestamp) throws(ChatError) {
        switch body {
        case .server(.command(let command)): try propose(command, to, at: now)
        case .server(.recall(let recall)):
            if let heldID = recall.messageID, RoomState.isHeldID(heldID) {
                let proposal = proposal(
                    .withdrawHeld(heldID: heldID), recall.actor, profile: nil, id: recall.id, to: to)
                if !answerRepeat(proposal, at: now) { propose(proposal) }
                return
            }
            propose(
                proposal(.recall([], recall.options), recall.actor, profile: nil, id: recall.id, to: to),
                after: FactLookup(recall), holding: nil, at: now)
        case .server(let operation): try answer(to, operation, at: now)
        case .operation(let operation): try answer(to, operation, at: now)
        case .leave, .away, .moved, .announce, .follow, .barrages, .taps:
            throw ChatError(.internal, "the server API is in no room")
        }
    }

    private func requireView() throws(ChatError) -> RoomView {
        guard var view = roomView else { throw ChatError(.notFound, "there is no room \(id)") }
        // The node that answers leads.
        (view.shard, view.leader) = (shard, context.node)
        return view
    }

    private func answer(_ to: ServerOrigin, _ operation: ServerOperation, at now: Timestamp) throws(ChatError) {
        // Content of a deleted room stays as long as the room can be restored.
        if case .keptMedia(let ids) = operation { return answer(to, .success(.keptMedia(state.keptUploads(ids)))) }
        let view = try requireView()
        switch operation {
        case .command, .recall, .keptMedia: break
        case .media(let mediaID, let reader):
            guard let record = state.upload(mediaID) else {
                throw ChatError(.notFound, "there is no content \(mediaID) in \(id)", field: "mediaId")
            }
            // A place may be older than what keeps its user from speaking.
            if reader == nil, record.digest == nil, let user = record.user {
                try state.maySpeak(user, anonymous: false, at: now)
            }
            let isHere = reader.map { reader in
                presence.visitors(of: reader.user).contains { $0.key.session == reader.session }
            }
            answer(
                to,
                .success(
                    .media(
                        MediaStatus(
                            record: record, isReaderHere: isHere ?? false,
                            isReadable: record.isReadable(at: now, visibleSince: visibleSince)))))
        case .message(let messageID):
            read(to) { room throws(ChatError) in .message(try await room.message(messageID)) }
        case .copies(let messageIDs, let user):
            read(to) { room throws(ChatError) in .copies(try await room.copies(messageIDs, for: user)) }
        case .explain: answer(to, .success(.explain(figures(view))))
        case .tallies: answer(to, .success(.tallies(state.tallyList)))
        case .polls: answer(to, .success(.polls(state.pollList)))
        case .reports(let after, let limit):
            let page = try state.reportPage(after: after, limit: limit, at: now)
            answer(to, .success(.reports(ReportsResult(reports: page.items, next: page.next))))
        case .barrage(let item):
            guard !view.info.closed else { throw ChatError(.roomClosed, "\(id) is closed") }
            show(item, at: now)
            answer(to, .success(.done))
        }
    }

    private func answer(_ to: ServerOrigin, _ operation: ClientOperation, at now: Timestamp) throws(ChatError) {
        let view = try requireView()
        let result: OperationResult
        switch operation {
        case .room: result = .room(RoomResult(room: view, seq: state.lastSeq))
        case .history(let request):
            return read(to) { room throws(ChatError) in
                let page = try await room.page(request.query)
                return .result(.history(MessagesResult(messages: page.messages, more: page.more)))
            }
        case .search(let request):
            return read(to) { room throws(ChatError) in .result(.search(try await room.search(request))) }
        case .members(let request):
            let page = try members(request.kind, after: request.after, limit: Int(request.limit), at: now, for: nil)
            result = .members(MembersResult(members: page.items, next: page.next))
        case .membersById(let request):
            result = .membersById(MembersResult(members: request.users.compactMap { member($0, at: now, for: nil) }))
        case .queue(let request): result = .queue(try queuePage(request))
        case .held(let request): result = .held(try heldInFrame(request))
        default: throw ChatError(.internal, "the server API does this by commands")
        }
        answer(to, .success(.result(result)))
    }

    private func read(
        _ to: ServerOrigin, _ work: @escaping @Sendable (isolated RoomActor) async throws(ChatError) -> RoomAnswer
    ) {
        begin { room in
            do throws(ChatError) {
                room.answer(to, .success(try await work(room)))
            } catch {
                room.answer(to, .failure(error))
            }
        }
    }

    private func propose(_ command: ServerCommand, _ to: ServerOrigin, at now: Timestamp) throws(ChatError) {
        var proposal = proposal(command.body, command.actor, profile: command.profile, id: command.id, to: to)
        // A user that the first try kicked is not here for the second, which is answered like the first.
        if answerRepeat(proposal, at: now) { return }
        proposal.moderate = command.moderate
        try requireTarget(of: proposal, at: now)
        if let messageIDs = command.body.combinedMessages {
            // The app server is in no room: it combines what this room has.
            return propose(proposal, after: .copies(messageIDs, for: nil, from: [self.id]), holding: nil, at: now)
        }
        if case .importMessages = command.body { return propose(proposal, after: .newest, holding: nil, at: now) }
        if neededOriginal(of: command.body) != nil || !unsettled(in: command.body).isEmpty {
            try requireMayRefer(proposal.command)
            return propose(proposal, after: .original, holding: nil, at: now)
        }
        if let ready = try moderated(proposal, holding: nil, at: now) { propose(ready) }
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
        figures.lastMessageAt = recent.tail.last?.time
        figures.activeSince = times.activatedAt
        figures.barrageShown = desk.shown
        figures.barrageDropped = desk.dropped
        figures.messagesDropped = budget.messagesLeftOut
        return figures
    }

    private func show(_ given: BarrageItem, at now: Timestamp) {
        var item = given
        item.time = now
        if let sender = given.from {
            let role = presence.isAnonymous(sender.user) ? Role.anonymous : state.role(of: sender.user).shownToOthers
            item.from = Sender(user: sender.user, profile: shown(sender.profile, of: sender.user), role: role)
        }
        desk.window.add(item, from: nil)
        touchBarrage()
    }

    private func proposal(
        _ body: CommandBody, _ actor: Actor, profile: Profile?, id: CommandID?, to: ServerOrigin
    ) -> Proposal {
        var facts = facts(body.namedUsers + [actor.user].compactMap { $0 }, body)
        if let user = actor.user, let profile { facts.names[user] = shown(profile, of: user) }
        return Proposal(
            command: Command(id: id, room: self.id, actor: actor, body: body, facts: facts), key: id.map(commandKey),
            origin: .server(to))
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

    /// Whether it is a message that names content, or may copy some.
    var namesContent: Bool {
        guard case .post(let draft) = self else { return false }
        return draft.body.media?.id != nil || draft.body.media?.thumbnailID != nil || combinedMessages != nil
    }

    /// The `notifyExt` of its notification, which a recall that belongs to it carries too.
    var notifyExt: String? {
        switch self {
        case .recall(_, let options), .setBlacklist(_, _, let options): options.notifyExt
        default: nil
        }
    }
}
