import ChatModel
import EventLoop
import History
import RoomCore
import RoomProtocol
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
        let incarnation = state.incarnation
        begin { room in
            var complete = proposal
            do throws(ChatError) {
                let facts = try await room.facts(lookup, for: proposal)
                // Whatever becomes of it, it was read.
                complete.origin = proposal.origin.charged(facts.copies.bytes)
                try room.propose(&complete, with: facts, of: incarnation, holding: key)
            } catch {
                room.release(complete)
                room.answer(complete.origin, .refused(error), isRepeat: false)
            }
            if let key { room.release(key, at: room.context.now()) }
        }
    }

    /// Looks up until nobody else is recalling any of the messages: what is left to do shows when that is decided.
    private func facts(_ lookup: FactLookup, for proposal: Proposal) async throws(ChatError) -> FoundFacts {
        try await settle(proposal.command.body)
        while true {
            let (erasures, amendments) = (recent.erased.count, recent.amended.count)
            var facts = try await lookUp(lookup, for: proposal)
            facts.erasuresBefore = erasures
            if let messageID = neededOriginal(of: proposal.command.body) {
                let message = try await original(messageID, of: proposal.command.body)
                // It may have been read before it was amended.
                if let seq = message.seq, recent.amended.contains(seq, since: amendments) != false { continue }
                if case .amend = proposal.command.body {
                    facts.amended = message
                } else {
                    facts.original = OriginalMessage(message)
                }
            }
            guard waiting.isRecalling(facts.targets) || mustWait(for: facts) else { return facts }
            await decidedRecalls()
        }
    }

    /// Whether somebody else is about to change the message that is referred to.
    private func mustWait(for facts: FoundFacts) -> Bool {
        guard let seq = facts.amended?.seq else { return facts.original.map { isRecalling($0.seq) } ?? false }
        return isRecalling(seq) || waiting.amending.contains(seq)
    }

    private func propose(
        _ complete: inout Proposal, with facts: FoundFacts, of incarnation: Incarnation?, holding key: PresenceKey?
    ) throws(ChatError) {
        if let refusal = facts.copies.refusal { throw refusal }
        // The numbers of one life of the room are other messages in the next.
        guard state.incarnation == incarnation else {
            throw ChatError(.notFound, "the room was deleted meanwhile")
        }
        guard !facts.batches.isIncomplete else {
            throw ChatError(.unavailable, "not all of the messages could be recalled", retryAfterMs: 1000)
        }
        try requireStillHere(key)
        complete.command = facts.complete(complete.command)
        complete.erasuresBefore = facts.erasuresBefore
        var senders = Set(facts.targets.compactMap(\.sender))
        if let sender = facts.amended?.from?.user { senders.insert(sender) }
        if !senders.isEmpty {
            var names = complete.command.facts.names
            for sender in senders { names[sender] = presence.profile(of: sender) }
            complete.command.facts.names = names
        }
        complete = claimAmended(of: complete)
        if let ready = try moderated(complete, holding: key, at: context.now()) {
            proceed(claimMessages(of: ready, facts.targets), key)
        }
    }

    private func lookUp(_ lookup: FactLookup, for proposal: Proposal) async throws(ChatError) -> FoundFacts {
        switch lookup {
        case .message(let messageID):
            let message = try await message(messageID)
            // One that is recalled already is left out: recalling it again does nothing.
            return FoundFacts(targets: message.isRecalled ? [] : [RecallTarget(message)].compactMap { $0 })
        case .messages(let user, let since): return try await messages(of: user, since: since, for: proposal)
        case .copies(let messageIDs, let user, let rooms):
            var facts = FoundFacts(copies: await context.calls.copies(messageIDs, for: user, from: rooms))
            if facts.copies.refusal == nil { await share(&facts) }
            return facts
        case .original: return FoundFacts()
        case .newest: return FoundFacts(newest: try await newest())
        case .uploadUse(let user, let bytes):
            try await context.takeUploadBytes(user, bytes)
            return FoundFacts()
        }
    }

    /// nil while the room has none.
    private func newest() async throws(ChatError) -> NewestMessage? {
        let seq = state.lastSeq
        guard seq > 0 else { return nil }
        if let last = recent.tail.last, last.seq == seq { return NewestMessage(seq: seq, time: last.time) }
        var query = HistoryQuery(incarnation: try requireLife(), limit: 1)
        query.withoutPayload = true
        if let row = try await rows(query).rows.first { return NewestMessage(seq: row.seq, time: row.time) }
        // It has expired, or is not here yet.
        guard storage.isHistoryComplete else {
            throw ChatError(.unavailable, "history is not complete on this node yet", retryAfterMs: 1000)
        }
        return NewestMessage(seq: seq, time: nil)
    }

    /// The newest of a user's messages first, page by page, until history ends or they are older than `since`.
    private func messages(of user: UserID, since: Timestamp?, for proposal: Proposal) async throws(ChatError)
        -> FoundFacts
    {
        var facts = FoundFacts()
        var query = HistoryQuery(incarnation: try requireLife(), limit: Int(Limits.pageItems))
        query.sender = user.text
        query.withoutPayload = true
        while true {
            let page = try await rows(query)
            let rows = page.rows.prefix { $0.time >= since ?? $0.time }
            for row in rows where !row.recalled {
                guard let type = MessageType(number: row.type) else { continue }
                facts.targets.append(RecallTarget(seq: row.seq, sender: user, time: row.time, type: type))
            }
            guard page.more, rows.count == page.rows.count, let last = rows.last else { return facts }
            if facts.targets.count + Int(Limits.pageItems) > Self.recalledAtOnceMax {
                recallNow(facts, for: proposal)
                facts.targets = []
            }
            query.beforeSeq = last.seq
        }
    }

    /// More than one 323 can name: these go before the command itself, in the name of its actor.
    private func recallNow(_ facts: FoundFacts, for proposal: Proposal) {
        var command = proposal.command
        command.id = nil
        command.body = .recall(facts.targets, NotifyOptions(notifyExt: proposal.command.body.notifyExt))
        let batch = Proposal(command: command, key: nil, origin: .batch(facts.batches))
        propose(claimMessages(of: batch, facts.targets))
        // It is on its way while the next page is read.
        wake()
    }
}

extension RecallTarget {
    /// nil for a message without a seq, which nobody can recall.
    init?(_ message: Message) {
        guard let seq = message.seq else { return nil }
        self.init(seq: seq, sender: message.sender, time: message.time, type: message.type)
    }
}
