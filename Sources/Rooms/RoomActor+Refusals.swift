import ChatModel
import GroupDriver
import RoomCore

/// Calls that are refused before they are proposed: what depends on who is here is not in the log.
extension RoomActor {
    /// A user who is to be blacklisted waits while the messages are looked for. Nobody makes others wait whom `apply`
    /// would refuse; and what it might accept, because a promotion is on its way, would be without the messages.
    func requireMayLookUp(for command: Command) throws(ChatError) {
        if case .setBlacklist(let user, enable: true, _) = command.body {
            try state.requireMayKick(user, by: command.actor)
        }
        if case .registerUpload = command.body, case .member = command.actor {
            if !context.cluster.level.brings(.media) { throw .upgrading(.media) }
            try state.requireMayRegister(by: command.actor, at: context.now())
        }
        if case .member(let user, _, let anonymous) = command.actor, !unsettled(in: command.body).isEmpty {
            try state.maySpeak(user, anonymous: anonymous, at: context.now())
        }
        try requireMayRefer(command)
    }

    /// Refuses what depends on who is here; a repeat gets the first answer all the same.
    func requireTarget(of proposal: Proposal, at now: Timestamp) throws(ChatError) {
        guard let refusal = refusal(of: proposal.command) else { return }
        if let key = proposal.key, state.remembers(key, at: now) { return }
        if case .kick(let user, _, _) = proposal.command.body {
            // A user who may not kick is told so, whether the target is here or not.
            try state.requireMayKick(user, by: proposal.command.actor)
        }
        throw refusal
    }

    /// A kick that bans nobody and lifts no ban needs somebody to kick, and an anonymous member cannot hold a role.
    private func refusal(of command: Command) -> ChatError? {
        switch command.body {
        case .queueSet(let write, _): refusal(ofOwner: write.owner, by: command.actor)
        case .post(let draft) where !draft.to.isEmpty: refusal(ofLengthOf: draft, by: command.actor)
        case .kick(let user, banSeconds: nil, _)
        where !presence.isHere(user) && !mayBeAnnounced(user, at: context.now()):
            ChatError(.notFound, "\(user) is not in \(id)", field: "user")
        case .kick(let user, banSeconds: 0, _)
        where !presence.isHere(user) && !state.isBanned(user, at: context.now()):
            ChatError(.notFound, "\(user) is not in \(id), and not banned either", field: "user")
        case .setManager(let user, enable: true, _) where presence.isAnonymous(user),
            .setMember(let user, enable: true, _) where presence.isAnonymous(user),
            .setRole(let user, .manager, _) where presence.isAnonymous(user),
            .setRole(let user, .normal, _) where presence.isAnonymous(user):
            ChatError(.forbidden, "an anonymous member cannot hold a role", field: "user")
        // It would be a fixed member for good, of whom nobody hears again.
        case .setMute(let user, enable: true, _) where presence.isAnonymous(user):
            ChatError(.forbidden, "an anonymous member only listens, and cannot be muted", field: "user")
        default:
            nil
        }
    }

    /// A manager seats only those who are here; whom the app server seats has the grace to enter. Others may seat nobody,
    /// as `apply` says.
    private func refusal(ofOwner owner: UserID?, by actor: Actor) -> ChatError? {
        guard let owner, case .member(let user, _, _) = actor, state.role(of: user).rank >= Role.manager.rank
        else { return nil }
        if presence.isAnonymous(owner) {
            return ChatError(.forbidden, "an anonymous member cannot own an element", field: "owner")
        }
        guard !presence.isHere(owner), !mayBeAnnounced(owner, at: context.now()) else { return nil }
        return ChatError(.notFound, "\(owner) is not in \(id)", field: "owner")
    }

    func requireMayList(_ kind: MemberKind, _ visitor: Visitor) throws(ChatError) {
        guard !visitor.anonymous else { throw ChatError(.forbidden, "anonymous members can't list members") }
        guard ![.muted, .blacklisted, .banned].contains(kind) || state.role(of: visitor.user).rank > 0 else {
            throw ChatError(.forbidden, "this listing is for managers")
        }
    }
}
