import ChatModel
import EventLoop
import History
import RoomCore
import RoomLink
import RoomStream
import Wire

/// Proposals that need facts from storage first.
extension RoomActor {
    /// How many messages one 323 names. A user who has sent more gets several, which all come before the answer.
    static var recalledAtOnceMax: Int { 1_000 }

    /// Looks up what the command needs, then proposes it; a repeat of an earlier command is proposed as it is, because
    /// `apply` answers it before it looks at anything else. The session's later calls follow in their order.
    func propose(_ proposal: Proposal, after lookup: FactLookup, holding key: PresenceKey?, at now: Timestamp) {
        if let id = proposal.key, state.remembers(id, at: now) { return propose(proposal) }
        // Messages of a user who is to be thrown out would stay, if they came while history is read.
        let proposal = holdTarget(of: proposal)
        if let key { hold(key) }
        lookUpAndPropose(proposal, lookup, holding: key)
    }

    private func lookUpAndPropose(_ proposal: Proposal, _ lookup: FactLookup, holding key: PresenceKey?) {
        let incarnation = state.incarnation
        lookUp(lookup, for: proposal) { room, result in
            let now = room.context.now()
            var complete = proposal
            do throws(ChatError) {
                let facts = try result.get()
                // Whatever becomes of it, it was read.
                complete.origin = proposal.origin.charged(facts.copies.bytes)
                if let refusal = facts.copies.refusal { throw refusal }
                // The numbers of one life of the room are other messages in the next.
                guard room.state.incarnation == incarnation else {
                    throw ChatError(.notFound, "the room was deleted meanwhile")
                }
                // Somebody else is recalling one of them: what is left to do shows when that is decided.
                guard !facts.targets.contains(where: { room.recalling[$0.seq] != nil }) else {
                    room.laterRecalls.append { $0.lookUpAndPropose(proposal, lookup, holding: key) }
                    return
                }
                guard !facts.batches.isIncomplete else {
                    throw ChatError(.unavailable, "not all of the messages could be recalled", retryAfterMs: 1000)
                }
                try room.requireStillHere(key)
                complete.command = facts.complete(proposal.command)
                for sender in Set(facts.targets.compactMap(\.sender)) {
                    complete.command.facts.names[sender] = room.presence.profile(of: sender)
                }
                if let ready = try room.moderated(complete, holding: key, at: now) {
                    room.proceed(room.claimMessages(of: ready, facts.targets), key)
                }
            } catch {
                room.release(complete)
                room.answer(complete.origin, .refused(error), isRepeat: false)
            }
            if let key { room.release(key, at: now) }
        }
    }

    private func lookUp(
        _ lookup: FactLookup, for proposal: Proposal,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<FoundFacts, ChatError>) -> Void
    ) {
        switch lookup {
        case .message(let messageID):
            find(messageID) { room, result in
                completion(
                    room,
                    result.map { message in
                        // One that is recalled already is left out: recalling it again does nothing.
                        FoundFacts(targets: message.isRecalled ? [] : [RecallTarget(message)].compactMap { $0 })
                    })
            }
        case .messages(let user, let since):
            collect(of: user, since: since, before: nil, FoundFacts(), for: proposal, completion)
        case .copies(let messageIDs, let user, let rooms):
            reads += 1
            context.copies(messageIDs, user, rooms) { [self] copies in
                context.loop.execute {
                    self.assumeIsolated { room in
                        room.reads -= 1
                        completion(room, .success(FoundFacts(copies: copies)))
                        room.wake()
                    }
                }
            }
        }
    }

    /// One kept message of this room, from the tail or from storage. Fails with 404 for anything else.
    func find(
        _ messageID: String,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<Message, ChatError>) -> Void
    ) {
        let missing = ChatError(.notFound, "there is no message \(messageID) in \(id)", field: "messageId")
        guard case .kept(let incarnation, let seq)? = MessageID.parse(messageID), incarnation == state.incarnation
        else { return completion(self, .failure(missing)) }
        if let message = tail.message(seq: seq) { return completion(self, .success(message)) }
        readRow(incarnation, seq, missing) { room, result in
            completion(
                room,
                result.flatMap { row in
                    (try? HistoryCodec.decode(row.payload)).map { .success($0) } ?? .failure(missing)
                })
        }
    }

    /// The newest of a user's messages first, page by page, until history ends or they are older than `since`.
    private func collect(
        of user: UserID, since: Timestamp?, before seq: UInt64?, _ facts: FoundFacts, for proposal: Proposal,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<FoundFacts, ChatError>) -> Void
    ) {
        guard let incarnation = state.incarnation else {
            return completion(self, .failure(ChatError(.notFound, "there is no room \(id)")))
        }
        var query = HistoryQuery(incarnation: incarnation, limit: Int(Limits.pageItems))
        query.sender = user.text
        query.withoutPayload = true
        query.beforeSeq = seq
        readPage(query) { room, result in
            let page: History.HistoryPage
            switch result {
            case .success(let read): page = read
            case .failure(let error): return completion(room, .failure(ChatError(reading: error)))
            }
            var facts = facts
            let rows = page.rows.prefix { $0.time >= since ?? $0.time }
            for row in rows where !row.recalled {
                guard let type = MessageType(number: row.type) else { continue }
                facts.targets.append(RecallTarget(seq: row.seq, sender: user, time: row.time, type: type))
            }
            guard page.more, rows.count == page.rows.count, let last = rows.last else {
                return completion(room, .success(facts))
            }
            if facts.targets.count + Int(Limits.pageItems) > Self.recalledAtOnceMax {
                room.recallNow(facts, for: proposal)
                facts.targets = []
            }
            room.collect(of: user, since: since, before: last.seq, facts, for: proposal, completion)
        }
    }

    /// More than one 323 can name: these go before the command itself, in the name of its actor.
    private func recallNow(_ facts: FoundFacts, for proposal: Proposal) {
        var command = proposal.command
        command.id = nil
        command.body = .recall(facts.targets, NotifyOptions(notifyExt: proposal.command.body.notifyExt))
        let batch = Proposal(command: command, key: nil, origin: .batch(facts.batches))
        propose(claimMessages(of: batch, facts.targets))
    }

    /// Reading from storage: the room stays in memory meanwhile, and is published after `completion`.
    func awaiting<Value: Sendable>(
        _ completion: @escaping @Sendable (isolated RoomActor, Result<Value, StorageError>) -> Void
    ) -> @Sendable (Result<Value, StorageError>) -> Void {
        reads += 1
        return { [self] result in
            context.loop.execute {
                self.assumeIsolated { room in
                    room.reads -= 1
                    completion(room, result)
                    room.wake()
                }
            }
        }
    }
}

extension RecallTarget {
    /// nil for a message without a seq, which nobody can recall.
    init?(_ message: Message) {
        guard let seq = message.seq else { return nil }
        self.init(seq: seq, sender: message.from?.user, time: message.time, type: message.body.type)
    }
}
