import ChatModel
import GroupDriver
import RoomCore
import RoomProtocol
import Wire

/// The message that a pin, a report or an amendment names or a reply answers: looked up before, and once more when the command goes
/// into the log. A recall that came in between wins: what goes into the log later finds the pin, and takes it away.
extension RoomActor {
    /// Throws 404 for what is no kept message of this room.
    func original(_ messageID: String, of body: CommandBody) async throws(ChatError) -> Message {
        do throws(ChatError) {
            let message = try await message(messageID)
            // The newest messages stay in memory when they have expired.
            guard message.time >= visibleSince else {
                throw ChatError(.notFound, "the message \(messageID) has expired", field: "messageId")
            }
            return message
        } catch {
            guard case .post = body, error.code == .notFound else { throw error }
            throw ChatError(error.code, error.message, field: "replyTo")
        }
    }

    /// The message that must be looked up for a command. A pin that is taken away needs nothing but itself.
    func neededOriginal(of body: CommandBody) -> String? {
        if case .pin(let messageID, enable: false, _) = body,
            state.info?.pinned.contains(where: { $0.messageID == messageID }) == true
        {
            return nil
        }
        return body.original
    }

    /// Nothing is looked up for whom `apply` would refuse, or for what not every node can do yet.
    func requireMayRefer(_ command: Command) throws(ChatError) {
        guard command.body.original != nil else { return }
        if let feature = command.body.feature, !context.cluster.level.brings(feature) {
            throw ChatError.upgrading(feature)
        }
        switch (command.body, command.actor) {
        case (.pin, let actor): try state.requireMayPin(actor)
        case (.report(let messageID, _), let actor):
            try state.requireMayReport(messageID, actor, at: context.now())
        case (.post, .member(let user, _, let anonymous)), (.amend, .member(let user, _, let anonymous)):
            try state.maySpeak(user, anonymous: anonymous, at: context.now())
        default: break
        }
    }

    /// Whether a recall of it is on its way through the log.
    func isRecalling(_ seq: UInt64) -> Bool { waiting.recalling[seq] != nil }

    /// The proposal as it may go into the log now: recalls that were applied or proposed since the look-up are minded, and a
    /// reply quotes what its message says now.
    /// - Returns: nil when it can't go, and was answered.
    func mindingRecalls(_ proposal: consuming Proposal) -> Proposal? {
        if let original = proposal.command.facts.original, !original.isRecalled {
            return mindingRecalls(proposal, of: original.seq, quotes: proposal.command.body.quotesOriginal)
        }
        if let amended = proposal.command.facts.amended, !amended.isRecalled, let seq = amended.seq {
            return mindingRecalls(proposal, of: seq, quotes: false)
        }
        return proposal
    }

    private func mindingRecalls(_ given: consuming Proposal, of seq: UInt64, quotes: Bool) -> Proposal? {
        var proposal = given
        let present = recent.tail.message(seq: seq)
        let isRecalled = present?.isRecalled ?? recent.erased.contains(seq, since: proposal.erasuresBefore)
        if isRecalled == true {
            proposal.command.facts.original?.isRecalled = true
            proposal.command.facts.original?.excerpt = nil
            if let type = proposal.command.facts.amended?.body.type {
                proposal.command.facts.amended?.body = .recalled(type)
            }
        } else if isRecalled == nil || isRecalling(seq) {
            // Whether the recall will be accepted is not known yet.
            if quotes {
                proposal.command.facts.original?.excerpt = nil
                return proposal
            }
            let error = ChatError(.unavailable, "the message is being recalled", retryAfterMs: 100)
            answer(proposal.origin, .refused(error), isRepeat: false)
            release(proposal)
            return nil
        } else if quotes, let present {
            proposal.command.facts.original?.excerpt = present.body.excerpt
        }
        return proposal
    }

    /// A repeat of an `amend` is answered with the message as it is now: only history has its text.
    func answerRepeatedAmend(of messageID: String, to origin: Proposal.Origin) {
        begin { room in
            do throws(ChatError) {
                let message = try await room.message(messageID)
                room.answer(origin, .amended(message), isRepeat: true)
            } catch {
                room.answer(origin, .refused(error), isRepeat: false)
            }
        }
    }

    /// A message that was read from storage, without a quote of what was recalled since then.
    func mindingRecalls(_ message: Message, since count: UInt64) -> Message {
        guard recent.erased.count != count, let quoted = message.quotedSeq,
            recent.erased.contains(quoted, since: count) != false
        else { return message }
        return message.withoutQuote
    }

    /// The room as it is shown: the limits that hold are there, and pinned messages that have expired have dropped out.
    func shown(_ info: RoomInfo) -> RoomInfo {
        var info = info
        info.complete(by: context.policy)
        info.pinned = shown(info.pinned)
        return info
    }

    func shown(_ pinned: [PinnedMessage]) -> [PinnedMessage] {
        guard !pinned.isEmpty else { return pinned }
        let cutoff = visibleSince
        return pinned.filter { $0.time >= cutoff }
    }
}

extension RoomInfo {
    /// Fills in the limits that hold where the room has none of its own.
    mutating func complete(by policy: RoomPolicy) {
        viewerBudget = viewerBudget ?? Int64(policy.viewerBudgetPerSecond)
        highPerSecond = highPerSecond ?? Int64(policy.highPerSecondMax)
    }
}

extension RoomPolicy {
    /// Messages of before have expired.
    func keptSince(_ now: Timestamp) -> Timestamp {
        now.adding(milliseconds: -retentionDays * Timestamp.millisecondsPerDay)
    }
}

extension CommandBody {
    /// The ID of the kept message that must be looked up for it.
    var original: String? {
        switch self {
        case .pin(let messageID, _, _), .amend(let messageID, _), .report(let messageID, _): messageID
        case .post(let draft): draft.replyTo
        default: nil
        }
    }

    /// Whether it says what that message says, and does well without it.
    fileprivate var quotesOriginal: Bool {
        switch self {
        case .post, .report: true
        default: false
        }
    }
}
