import ChatModel

/// Messages that the room has pinned, and what replies say of the messages that they answer. These messages are in history:
/// the leader looks them up, and states as a fact what it has found.
extension RoomState {
    /// Pinning what is pinned, or taking away a pin that is not there, tells nobody.
    mutating func pin(
        _ messageID: String, enable: Bool, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireMayPin(command.actor)
        // Those that have expired have dropped out.
        let before = (record?.info.pinned ?? []).filter { $0.time >= command.facts.keptSince ?? $0.time }
        let isPinned = before.contains { $0.messageID == messageID }
        var pinned = before
        if !enable, isPinned {
            pinned.removeAll { $0.messageID == messageID }
        } else {
            let original = try original(messageID, command.facts)
            if enable, !isPinned {
                // A recalled message drops out, so it can't come in either.
                guard !original.isRecalled else { throw notKept(messageID, "messageId") }
                guard pinned.count < Limits.pinnedMessages else {
                    throw ChatError(.conflict, "\(room) has \(Limits.pinnedMessages) pinned messages already")
                }
                pinned.append(PinnedMessage(messageID: messageID, seq: original.seq, time: original.time))
            }
        }
        guard pinned != before else { return .pinned(pinned) }
        record?.info.pinned = pinned
        outcome.touchesRoom = true
        notify(.pinsChanged, options, data: .pinned(pinned), for: command, &outcome)
        return .pinned(pinned)
    }

    /// Pins are for creator, managers and the server API.
    public func requireMayPin(_ actor: Actor) throws(ChatError) {
        try requireOpen()
        guard isManager(actor) else { throw ChatError(.forbidden, "this is for managers of \(room)") }
    }

    /// Recalled messages drop out. The 323 tells it.
    mutating func unpin(_ seqs: Set<UInt64>, _ outcome: inout Outcome) {
        guard let pinned = record?.info.pinned, pinned.contains(where: { seqs.contains($0.seq) }) else { return }
        record?.info.pinned.removeAll { seqs.contains($0.seq) }
        outcome.touchesRoom = true
    }

    /// The reference of a reply to the message that it answers.
    func reference(_ messageID: String, _ facts: CommandFacts) throws(ChatError) -> ReplyReference {
        guard let original = try? original(messageID, facts) else { throw notKept(messageID, "replyTo") }
        return ReplyReference(
            messageID: messageID, seq: original.seq, user: original.user, nick: original.nick,
            excerpt: original.isRecalled ? nil : original.excerpt)
    }

    func original(_ messageID: String, _ facts: CommandFacts) throws(ChatError) -> OriginalMessage {
        guard let original = facts.original, isKept(messageID, seq: original.seq) else {
            throw notKept(messageID, "messageId")
        }
        return original
    }

    /// Whether a fact is of this life of the room, and of the message named.
    func isKept(_ messageID: String, seq: UInt64?) -> Bool {
        guard let seq, let incarnation, seq > 0, seq <= lastSeq else { return false }
        return MessageID.parse(messageID) == .kept(incarnation, seq: seq)
    }

    func notKept(_ messageID: String, _ field: String) -> ChatError {
        ChatError(.notFound, "there is no kept message \(messageID) in \(room)", field: field)
    }
}
