import ChatModel

/// Changing a kept message (PROTOCOL.md, "Amended messages"). The message is in history: the leader looks it up, lets nobody
/// else change it until this is decided, and states it as a fact.
extension RoomState {
    mutating func amend(
        _ messageID: String, _ set: MessageChanges, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        if case .member(let user, _, let anonymous) = command.actor {
            try maySpeak(user, anonymous: anonymous, at: outcome.time)
        }
        guard let former = command.facts.amended, let seq = former.seq, isKept(messageID, seq: seq) else {
            throw notKept(messageID, "messageId")
        }
        try requireMayAmend(former, command, at: outcome.time)
        var fields = former.fields
        fields.body = try set.applied(to: former.body)
        fields.ext = set.ext ?? fields.ext
        fields.editedAt = outcome.time
        try passSlowMode(command.actor, &outcome)

        let message = Message(fields)
        outcome.history.append(.amend(message))
        notify(
            .amended, NotifyOptions(), of: [former.from?.user].compactMap { $0 },
            data: .amended(messageID: messageID, seq: seq, set: set, editedAt: outcome.time), like: message,
            for: command, &outcome)
        return .amended(message)
    }

    /// Senders amend their own for a while, app servers any.
    private func requireMayAmend(_ message: Message, _ command: Command, at now: Timestamp) throws(ChatError) {
        guard !message.isRecalled else { throw ChatError(.conflict, "the message has been recalled") }
        if case .member(let user, _, _) = command.actor {
            guard user == message.sender else {
                throw ChatError(.forbidden, "only its sender and the app server amend a message")
            }
            guard now <= message.time.adding(seconds: command.facts.recallWindowSeconds) else {
                throw ChatError(
                    .forbidden, "a message can be amended for \(command.facts.recallWindowSeconds) s only")
            }
        }
        guard message.type != .notification else {
            throw ChatError(.forbidden, "a notification can't be amended")
        }
    }
}
