import ChatModel
import EventLoop
import GroupDriver
import Moderation
import RoomCore
import Telemetry
import Webhooks
import Wire

/// Moderation (PROTOCOL.md, "Moderation"): decided once, by the leader, before proposing; the words first, then the
/// hook.
extension RoomActor {
    /// A text as it may be shown. Throws 13009 naming the field.
    func passed(_ text: String, _ field: String) throws(ChatError) -> String {
        try context.callbacks.value.words.passed(text, field)
    }

    /// Whether words or a hook are asked about messages.
    var moderates: Bool { context.callbacks.value.moderates }

    /// Returns the command that may be proposed now, with its words replaced; nil while the hook is asked.
    ///
    /// A repeat of an earlier command is proposed as it is, because `apply` answers it before it looks at anything
    /// else. While the hook is asked the session's later calls wait, so that nothing is overtaken; other sessions
    /// don't.
    /// - Parameter key: the session that asks; nil for the server API.
    /// - Throws: 13009; 416 or 503 when too many of this room's messages are with the hook already.
    func moderated(_ given: consuming Proposal, holding key: PresenceKey?, at now: Timestamp) throws(ChatError)
        -> Proposal?
    {
        let callbacks = context.callbacks.value
        guard given.moderate, callbacks.moderates else { return holdTarget(of: given) }
        if let id = given.key, state.remembers(id, at: now) { return given }
        var proposal = given
        var holds = false
        proposal.command.body = try callbacks.words.passed(proposal.command.body, holds: &holds)
        if holds { try hold(&proposal.command) }
        guard let hook = callbacks.hook, let draft = try proposal.command.moderatedDraft, draft.body.isModerated else {
            return holdTarget(of: proposal)
        }
        // The hook is not asked about what `apply` will refuse anyway.
        if case .member(let user, _, let anonymous) = proposal.command.actor {
            try state.maySpeak(user, anonymous: anonymous, at: now)
        }
        var asked = draft
        asked.body = try forReview(draft.body)
        guard reading.atHook < Self.atHookMax else { throw Self.tooMany(hook.onFailure) }
        guard callbacks.breaker.admit(at: now) else {
            context.figures.hookSkipped.add()
            try take(hook.onFailure, for: &proposal.command)
            return proposal
        }
        ask(hook, about: asked, proposal, holding: key, at: now)
        return nil
    }

    /// Messages of one room that are with the hook at a time; beyond, 416 where the hook may fail, else 503.
    private static var atHookMax: Int { 256 }
    /// Bytes of the hook's answer, which repeats a text at most.
    private static var answerBytesMax: Int { 256 << 10 }

    private static func tooMany(_ policy: HookFailurePolicy) -> ChatError {
        ChatError(
            policy == .allow ? .tooOften : .unavailable, "too many messages of this room are being checked",
            retryAfterMs: 1000)
    }

    /// The message waits for a manager; whatever can't wait is refused (PROTOCOL.md, "Held messages").
    private func hold(_ command: inout Command) throws(ChatError) {
        guard case .post(let draft) = command.body, draft.isKept else { throw Self.refused }
        if case .member(let user, _, let anonymous) = command.actor {
            // A user who may not speak at all is told so.
            try state.maySpeak(user, anonymous: anonymous, at: context.now())
            try state.requireShareOfHeld(of: user)
        }
        command.facts.hold = context.callbacks.value.hold
        command.facts.heldBySender = context.cluster.level.brings(.held)
        command.facts.owesByRow = context.cluster.level.brings(.owedRows)
    }

    /// There is no word of the hook.
    private func take(_ policy: HookFailurePolicy, for command: inout Command) throws(ChatError) {
        switch policy {
        case .allow: break
        case .refuse: throw Self.unchecked
        case .hold: try hold(&command)
        }
    }

    private static var refused: ChatError { ChatError(.rejected, "the message was refused by moderation") }

    private static var unchecked: ChatError {
        ChatError(.rejected, "messages can't be checked now, and are refused until they can")
    }

    private func ask(
        _ hook: HookSettings, about draft: MessageDraft, _ proposal: Proposal, holding key: PresenceKey?,
        at now: Timestamp
    ) {
        var question = HookQuestion(room: id, time: now, message: draft)
        question.from = sender(of: proposal.command)
        question.clientID = proposal.command.id.flatMap { key == nil ? nil : $0.text }
        if case .amend(let messageID, _) = proposal.command.body { question.messageID = messageID }
        reading.atHook += 1
        if let key { hold(key) }
        let client = context.callbacks.value.client
        begin { [question] room in
            let reply = await Self.reply(client, hook, question)
            room.reading.atHook -= 1
            let now = room.context.now()
            do throws(ChatError) {
                room.proceed(try room.decided(reply, hook, proposal, holding: key, at: now), key)
            } catch {
                room.release(proposal)
                room.answer(proposal.origin, .refused(error), isRepeat: false)
            }
            if let key { room.release(key, at: now) }
        }
    }

    /// nil: no answer in time that can be understood.
    @concurrent private static func reply(_ client: CallbackClient, _ hook: HookSettings, _ question: HookQuestion)
        async -> HookReply?
    {
        let request = CallbackRequest(
            url: hook.url, secret: hook.secret ?? "", body: WireJSON.encode(question), time: question.time.milliseconds,
            timeoutMilliseconds: hook.timeoutMs, answerBytesMax: answerBytesMax)
        guard let answer = try? await client.post(request), answer.isAccepted else { return nil }
        return try? WireJSON.decode(HookReply.self, from: answer.body, limits: true)
    }

    private func decided(
        _ reply: HookReply?, _ hook: HookSettings, _ given: Proposal, holding key: PresenceKey?, at now: Timestamp
    ) throws(ChatError) -> Proposal {
        var proposal = given
        var verdict = reply?.action
        if verdict == .rewrite {
            if let text = reply?.text, let body = try given.command.rewritten(text) {
                proposal.command.body = body
            } else {
                verdict = nil
            }
        }
        let callbacks = context.callbacks.value
        if verdict == nil { callbacks.breaker.failed(at: now) } else { callbacks.breaker.succeeded() }
        try requireStillHere(key)
        // A retry that came by another connection may have been faster: then its result is the first one.
        if let id = proposal.key, state.remembers(id, at: now) { return given }
        switch verdict {
        case .allow: context.figures.hookAllowed.add()
        case .rewrite: context.figures.hookRewritten.add()
        case .refuse:
            context.figures.hookRefused.add()
            throw Self.refused
        case .hold:
            context.figures.hookHeld.add()
            try hold(&proposal.command)
        case nil:
            context.figures.hookFailed.add()
            try take(hook.onFailure, for: &proposal.command)
        }
        return proposal
    }

    private func sender(of command: Command) -> Sender? {
        switch command.actor {
        case .system, .moderator: nil
        case .server(let name):
            Sender(
                user: name.user, profile: presence.profile(of: name.user) ?? Profile(nick: name.nick),
                role: state.role(of: name.user).shownToOthers)
        case .member(let user, let profile, _):
            Sender(user: user, profile: profile, role: state.role(of: user).shownToOthers)
        }
    }
}

extension Command {
    /// The message that it makes, for the hook; nil when it makes none. Throws 414 for an amendment that does not fit its
    /// message.
    fileprivate var moderatedDraft: MessageDraft? {
        get throws(ChatError) {
            switch body {
            case .post(let draft): return draft
            case .amend(_, let set):
                guard let message = facts.amended, !message.isRecalled else { return nil }
                var draft = MessageDraft(body: try set.applied(to: message.body))
                draft.priority = message.priority
                draft.mentions = message.mentions
                draft.mentionAll = message.mentionAll
                draft.ext = set.ext ?? message.ext
                draft.replyTo = message.replyTo?.messageID
                draft.webhook = message.webhook
                return draft
            default: return nil
            }
        }
    }

    /// The same with the hook's text; nil where that does not fit.
    fileprivate func rewritten(_ text: String) throws(ChatError) -> CommandBody? {
        guard var draft = try moderatedDraft, let new = draft.body.rewritten(text) else { return nil }
        guard case .amend(let messageID, var set) = body else {
            draft.body = new
            return .post(draft)
        }
        switch new {
        case .text(let text), .tip(let text): set.text = text
        case .custom(let content, _, _): set.content = content
        default: return nil
        }
        return .amend(messageID: messageID, set: set)
    }
}
