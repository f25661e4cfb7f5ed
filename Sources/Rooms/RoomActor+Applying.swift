import ChatModel
import EventLoop
import History
import RoomCore
import RoomProtocol
import Webhooks
import Wire

/// Committed commands: the state changes, in log order, and what follows from it for members and storage.
extension RoomActor {
    /// Applies one committed command, answers whoever proposed it, and adds the rows that follow from it.
    func apply(_ proposal: Proposal, at stamp: Stamp, into rows: inout StorageBatch) {
        // Those of the COMBINE that is kept next, where the command has not brought them along.
        var copies: [Message] = []
        let incarnation = state.incarnation
        var effects = state.apply(proposal.command, key: proposal.key, at: stamp)
        turn.lastChangeIndex = stamp.index
        // It is always the last one. Taken out, since a copy of it costs more than all else here.
        let result: CommandResult? = if case .result(let result)? = effects.popLast() { result } else { nil }
        // With an ID whatever is new leaves at least a row.
        let isRepeat = proposal.key != nil && effects.isEmpty
        if !isRepeat, case .updateMe(let set, _, _) = proposal.command.body, case .member(let member)? = result {
            // Laid over what is shown now: another change may have come since this one was proposed.
            var profile = presence.profile(of: member.user) ?? member.profile
            set.apply(to: &profile)
            presence.setProfile(member.user, profile)
            for visitor in presence.visitors(of: member.user) where !visitor.isRobot {
                stream.notify(visitor.lane, .profile(visitor.key.session, profile))
            }
        }
        // An ack goes before the sender's own push.
        if let result { answer(proposal.origin, result, isRepeat: isRepeat) }
        for effect in effects {
            perform(
                effect, proposal.command.facts, stamp: stamp, incarnation: incarnation ?? state.incarnation,
                copies: &copies, rows: &rows)
        }
        clearSeatsOfGone(by: proposal)
        noteApplied(proposal.command.body)
        noteDecided(proposal, isApplied: true)
        release(proposal)
        touch()
        if state.isOwing { context.callbacks.value.note(id, shard) }
    }

    private func perform(
        _ effect: Effect, _ facts: CommandFacts, stamp: Stamp, incarnation: Incarnation?, copies: inout [Message],
        rows: inout StorageBatch
    ) {
        switch effect {
        case .catalogue(let change):
            if change.kind == .member, let user = UserID(change.key) {
                presence.setRole(user, state.role(of: user))
                publishVoices(of: user)
            }
            if case .queue(let element, _)? = change.value { noteOwner(of: element) }
            if change.kind == .tally { noteTotal(of: change.key) }
            if change.kind == .votes { noteVotes(in: change.key) }
            if change.kind == .room { turn.roomChange = nil }
            rows.catalogue.append(row(change, incarnation, stamp.index))
        case .roomChanged:
            turn.roomChange = stamp.index
            publishSilence()
            desk.window.highPerSecond = Self.highPerSecond(inPlace(&state) { $0.highPerSecond }, context.policy)
        case .keepCopies(let kept):
            copies = kept
        case .append(let message, let key):
            guard let seq = message.seq, let incarnation else { return }
            let kept = copies.isEmpty ? facts.copies : copies
            copies = []
            let payload = HistoryCodec.encode(message)
            recent.tail.append(message, as: payload)
            if turn.unwrittenFrom == nil { turn.unwrittenFrom = seq }
            turn.hasUnwrittenHistory = true
            var row = HistoryRow(
                incarnation: incarnation, seq: seq, index: stamp.index, time: message.time,
                type: message.type.number, sender: message.sender?.text, command: key,
                payload: payload,
                copies: kept.isEmpty ? nil : HistoryCodec.encode(copies: kept))
            row.life = life(on: message.time.day)
            rows.history.append(row)
        case .erase(let seq, let day):
            guard let incarnation else { return }
            recent.erase(seq, of: state.lastSeq)
            // A recall that tells nobody has no seq of its own, so pages for those who enter would go on to show it.
            endMissedPages()
            turn.hasUnwrittenHistory = true
            rows.erasures.append(
                Erasure(incarnation: incarnation, seq: seq, day: day, index: stamp.index, life: life(on: day)))
        case .amend(let message):
            guard let seq = message.seq, let incarnation else { return }
            recent.amend(message, seq, of: state.lastSeq)
            endMissedPages()
            turn.hasUnwrittenHistory = true
            var row = HistoryRow(
                incarnation: incarnation, seq: seq, index: stamp.index, time: message.time,
                type: message.type.number, sender: message.sender?.text, command: nil,
                payload: HistoryCodec.encode(message))
            row.isAmendment = true
            row.life = life(on: message.time.day)
            rows.history.append(row)
        case .publish(let message):
            publish(message)
            offerUnkept(message)
        case .leaveOut(let seqs): leaveOut(seqs, at: stamp.time)
        case .held(let record): notify(record)
        case .denied(let record): notify(record)
        case .kick(let user, let reason, let ext):
            recent.tail.noteKick(user, at: stamp.time, PutOut(reason, ext: ext))
            leave(presence.kick(user: user), reason, ext)
            noteEmptiness()
        case .kickAll(let reason, let ext):
            leave(presence.kickAll(), reason, ext)
            noteEmptiness()
        case .robotsEnter(let robots):
            enter(robots, at: stamp.time)
        case .robotsExit(let users):
            for user in users {
                if let key = PresenceKey.robot(user) { exit(key, at: stamp.time) }
            }
        case .retire(let retired):
            rows.retired.append(RetiredRoom(room: id, incarnation: retired))
            recent.tail = HotTail()
            budget = ViewerBudget()
        case .result:
            break
        }
    }

    func row(_ change: CatalogueChange, _ incarnation: Incarnation?, _ index: UInt64) -> CatalogueRow {
        CatalogueRow(
            room: id,
            // Results outlive the room's life, and so do windows of taps and what the webhook is owed.
            incarnation: [.command, .taps, .webhook].contains(change.kind)
                ? Incarnation(0) : incarnation ?? Incarnation(0),
            kind: change.kind.rawValue, key: change.key,
            value: change.value.map(CatalogueCodec.encode),
            deadline: change.deadline, index: index)
    }
}
