import ChatModel

/// Messages of before, with their times (PROTOCOL.md, "Import").
extension RoomState {
    /// Keeps messages behind the newest one. Nobody who is here is shown them, and the webhook is owed nothing of them.
    /// - Parameter newest: the fact of the leader: the times of what is kept are history's knowledge.
    mutating func importMessages(
        _ messages: [ImportedMessage], after newest: NewestMessage?, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        let wanted = try importable(messages, command.facts.keptSince, at: outcome.time)
        if let first = wanted.first { try requireMayFollow(newest, first.time) }
        for message in wanted { keep(message, &outcome) }
        if !wanted.isEmpty {
            outcome.touchesRoom = true
            outcome.notices.append(.leaveOut(lastSeq - UInt64(wanted.count) + 1...lastSeq))
        }
        return .imported(
            ImportResult(
                imported: Int64(wanted.count), skipped: Int64(messages.count - wanted.count), seq: lastSeq))
    }

    /// Those that are not too old and not here already. Throws 414 when one of them is not of the past, or before the one
    /// in front of it.
    private func importable(
        _ messages: [ImportedMessage], _ keptSince: Timestamp?, at now: Timestamp
    ) throws(ChatError) -> [ImportedMessage] {
        var wanted: [ImportedMessage] = []
        var keys: Set<CommandKey> = []
        for message in messages {
            guard message.time <= now else {
                throw ChatError(
                    .badParameter, "the time \(message.time.milliseconds) is in the future", field: "messages.time")
            }
            if let keptSince, message.time < keptSince { continue }
            if let key = message.key, remembers(key, at: now) || !keys.insert(key).inserted { continue }
            guard message.time >= wanted.last?.time ?? message.time else {
                throw ChatError(
                    .badParameter, "messages come in the order of their times", field: "messages.time")
            }
            wanted.append(message)
        }
        return wanted
    }

    private func requireMayFollow(_ newest: NewestMessage?, _ time: Timestamp) throws(ChatError) {
        guard lastSeq > 0 else { return }
        guard let newest, newest.seq == lastSeq else {
            throw ChatError(.unavailable, "\(room) got other messages meanwhile", retryAfterMs: 100)
        }
        guard let latest = newest.time, time < latest else { return }
        throw ChatError(
            .conflict,
            "\(room) has messages up to the time \(latest.milliseconds), and none can be put before them: import into a "
                + "new room, before it is used")
    }

    private mutating func keep(_ message: ImportedMessage, _ outcome: inout Outcome) {
        let (seq, messageID) = nextKept()
        var fields = MessageFields(
            room: room, place: .kept(seq: seq), messageID: messageID, time: message.time, from: message.from,
            body: message.body)
        (fields.priority, fields.clientID) = (message.priority, message.clientID)
        (fields.mentions, fields.mentionAll, fields.ext) = (message.mentions, message.mentionAll, message.ext)
        fields.webhook = false
        // A replica that restarts finds the commands of the last ten minutes by the times of the rows.
        let key = message.key.flatMap { CommandLedger.isForgotten(message.time, at: outcome.time) ? nil : $0 }
        if let key {
            ledger.remember(
                CommandLedger.Post(seq: seq, time: message.time, priority: message.priority), of: key)
        }
        outcome.history.append(.append(Message(fields), commandKey: key))
    }
}
