import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import Wire

/// Sessions whose calls wait: an enter or a fact is being read from storage, a message is with the pre-send hook, or a
/// kick of its user is on its way through the log.
extension RoomActor {
    func hold(_ key: PresenceKey) {
        guard waiting.holds[key] == nil else {
            waiting.holds[key]?.reasons += 1
            return
        }
        waiting.holds[key] = Hold()
    }

    /// With the last reason gone what waited is handled in order; any of it may hold the rest up again.
    func release(_ key: PresenceKey, at now: Timestamp) {
        guard var hold = waiting.holds[key] else { return }
        hold.reasons -= 1
        guard hold.reasons <= 0 else {
            waiting.holds[key] = hold
            return
        }
        waiting.holds[key] = nil
        for proposal in hold.ready {
            if presence.visitor(key) != nil {
                propose(proposal)
            } else {
                answer(proposal.origin, .refused(noLongerHere), isRepeat: false)
                release(proposal)
            }
        }
        for (number, call) in hold.calls.enumerated() {
            handle(call, isInOrder: number == 0 && hold.isInOrder, at: now)
        }
    }

    /// Until the changes are decided that its session has asked for.
    func holdForChanges(_ key: PresenceKey) {
        hold(key)
        waiting.holds[key]?.isInOrder = true
        waiting.holds[key]?.isForChanges = true
        waiting.undecided.wait(key)
    }

    /// A change was applied, or never comes to the log. The calls that have waited for it go on in the next turn, behind what
    /// this one tells.
    func noteDecided(_ proposal: Proposal, isApplied: Bool) {
        guard let slot = proposal.slot else { return }
        if isApplied { waiting.undecided.apply(slot) } else { waiting.undecided.giveUp(slot) }
        while let key = inPlace(&waiting, { $0.undecided.takeDue() }) {
            begin { room in
                room.waiting.holds[key]?.isForChanges = false
                room.release(key, at: room.context.now())
            }
        }
    }

    /// Whether the session may throw barrage: one that only waits for its own changes may.
    func mayThrow(_ key: PresenceKey) -> Bool {
        waiting.holds[key].map { $0.isForChanges && $0.reasons == 1 } ?? true
    }

    private var noLongerHere: ChatError { ChatError(.notInRoom, "you are no longer in \(id)") }

    /// A session that was put out during its look-up proposes no more. nil is the server API.
    func requireStillHere(_ key: PresenceKey?) throws(ChatError) {
        if let key, presence.visitor(key) == nil { throw noLongerHere }
    }

    /// The held proposal may go, unless something else holds the session too: from proposing a kick on, nothing more
    /// of that user is proposed.
    func proceed(_ proposal: Proposal, _ key: PresenceKey?) {
        guard let key, let reasons = waiting.holds[key]?.reasons, reasons > 1 else { return propose(proposal) }
        waiting.holds[key]?.ready.append(proposal)
    }

    /// Puts a call behind those that wait. An end or a move of the session is taken in any number: there are few.
    func wait(_ body: RoomRequest.Body, _ call: SessionOrigin, _ key: PresenceKey) {
        switch body {
        case .moved(let former):
            // The room's output goes to the new lane at once.
            move(key, call, from: former)
        case .announce(let stay):
            // A lane's words about itself are one sequence, whichever of its sessions is held.
            return announce(stay, call, key)
        case .follow(let place):
            return follow(place, Lane(node: call.address.node, number: call.address.lane), number: call.number)
        case .leave, .away, .barrages, .taps, .server:
            break
        case .operation(let operation):
            guard (waiting.holds[key]?.calls.count ?? 0) < Self.waitingCallsMax else {
                let error = ChatError(.tooOften, "wait for earlier answers", retryAfterMs: 1000)
                if case .enter = operation {
                    return notify(call, .entered(call.address.session, request: call.request, .failure(error)))
                }
                return reply(call, .failure(error))
            }
        }
        waiting.holds[key]?.calls.append(RoomRequest(room: id, from: call, body))
    }

    private static var waitingCallsMax: Int { 64 }

    // MARK: - What is decided soon

    /// From proposing a kick or a blacklisting on, nothing more of that user is proposed until it is decided: the
    /// calls of the user's sessions wait, and are refused when it was done. Further sessions enter after it.
    func holdTarget(of proposal: consuming Proposal) -> Proposal {
        guard proposal.throwsOut == nil, let user = proposal.command.body.thrownOut else { return proposal }
        proposal.throwsOut = user
        guard waiting.throwingOut[user] == nil else {
            waiting.throwingOut[user]?.proposals += 1
            return proposal
        }
        let keys = presence.visitors(of: user).filter { !$0.isRobot }.map(\.key)
        waiting.throwingOut[user] = ThrowingOut(held: keys)
        for key in keys { hold(key) }
        return proposal
    }

    /// Holds a session that is about to enter while its user is being thrown out.
    func holdIfThrownOut(_ user: UserID, _ key: PresenceKey) {
        guard waiting.throwingOut[user] != nil, waiting.throwingOut[user]?.held.contains(key) == false else { return }
        waiting.throwingOut[user]?.held.append(key)
        hold(key)
    }

    /// From proposing a recall on, others of the same messages wait until it is decided, so that it is told once.
    func claimMessages(of proposal: Proposal, _ targets: [RecallTarget]) -> Proposal {
        var proposal = proposal
        proposal.recalls = targets.map(\.seq)
        for seq in proposal.recalls { waiting.recalling[seq, default: 0] += 1 }
        return proposal
    }

    /// From looking a message up for an `amend` on, others wait until it is decided: what each of them sets is laid over
    /// what the former has left.
    func claimAmended(of proposal: Proposal) -> Proposal {
        guard let seq = proposal.command.facts.amended?.seq else { return proposal }
        var proposal = proposal
        proposal.amends = seq
        waiting.amending.insert(seq)
        return proposal
    }

    /// The proposal was decided, or will not be: what waited for it goes on in the next turn, behind what this one
    /// tells and writes.
    func release(_ proposal: Proposal) {
        if let batch = proposal.taps, tallyDesk.proposedTaps[batch.life] == batch.window {
            tallyDesk.proposedTaps[batch.life] = nil
        }
        guard proposal.isWaitedFor else { return }
        begin { room in
            room.releaseMessages(proposal.recalls, amended: proposal.amends)
            if let user = proposal.throwsOut { room.releaseSessions(of: user) }
        }
    }

    /// Returns when a recall or an amendment that others wait for was decided.
    func decidedRecalls() async { await withCheckedContinuation { waiting.laterRecalls.append($0) } }

    private func releaseSessions(of user: UserID) {
        guard var ended = waiting.throwingOut[user] else { return }
        ended.proposals -= 1
        waiting.throwingOut[user] = ended.proposals > 0 ? ended : nil
        guard ended.proposals <= 0 else { return }
        let now = context.now()
        for key in ended.held { release(key, at: now) }
    }

    private func releaseMessages(_ seqs: [UInt64], amended: UInt64?) {
        guard !seqs.isEmpty || amended != nil else { return }
        if let amended { waiting.amending.remove(amended) }
        for seq in seqs {
            let left = waiting.recalling[seq, default: 1] - 1
            waiting.recalling[seq] = left > 0 ? left : nil
        }
        let later = waiting.laterRecalls
        waiting.laterRecalls = []
        for recall in later { recall.resume() }
    }
}

extension CommandBody {
    /// The user that leaves the room by this command, if it is accepted.
    fileprivate var thrownOut: UserID? {
        switch self {
        case .kick(let user, _, _), .setBlacklist(let user, enable: true, _): user
        default: nil
        }
    }
}
