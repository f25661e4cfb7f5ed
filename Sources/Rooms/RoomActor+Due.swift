import ChatModel
import RoomCore
import RoomProtocol

/// The things that a room does at a time, and when the next of them is due (`RoomAgenda`).
extension RoomActor {
    /// The host looks at a room once in this time at most. The end of a mute, for example, is told so much later at most, and
    /// by the steps of the host.
    static let lookMilliseconds: Int64 = 250
    /// For so long a room does not propose again what is due, because the proposal before may be on its way.
    static let dueProposalMilliseconds: Int64 = 1_000
    /// For so long nothing has happened in a room before it leaves memory.
    static let idleMilliseconds: Int64 = 2_000

    /// When `tick`, `endGraces` or `mayLeaveMemory` has something to do next, if nothing happens before; nil: never.
    /// Each of their inputs has its line here.
    /// - Parameter isLed: whether this node leads the room. Elsewhere a room does nothing but leave memory.
    func nextDue(isLed: Bool, at now: Timestamp) -> Timestamp? {
        var due = Timestamp(.max)
        if presence.sessionCount == state.robotCount {
            due = times.idleSince.adding(milliseconds: Self.idleMilliseconds)
        }
        if isLed { due = min(due, nextTick) }
        guard due < Timestamp(.max) else { return nil }
        // A clock that was set back does not hold it up.
        return max(due, min(note.lookedAt, now).adding(milliseconds: Self.lookMilliseconds))
    }

    private var nextTick: Timestamp {
        var due = Timestamp(.max)
        func sooner(_ other: Timestamp?) { if let other, other < due { due = other } }
        sooner(presence.nextTick)
        sooner(budget.reportDueAt)
        sooner(graces.nextEnd)
        // Owners who have come are taken off the list, too.
        if !graces.absentOwners.isEmpty { due = Timestamp(.min) }
        let mayPropose = mayProposeDueAt
        sooner(inPlace(&state) { $0.nextDeadline }.map { max($0, mayPropose) })
        sooner(occupancyDueAt.map { max($0, mayPropose) })
        return due
    }

    private var mayProposeDueAt: Timestamp {
        note.proposedDueAt?.adding(milliseconds: Self.dueProposalMilliseconds) ?? Timestamp(.min)
    }

    private func proposeDue(_ proposal: Proposal, at now: Timestamp) {
        note.proposedDueAt = now
        propose(proposal)
    }

    /// Its proposal of what is due was applied: the next may follow.
    func noteApplied(_ body: CommandBody) {
        switch body {
        case .expire, .occupancy: note.proposedDueAt = nil
        default: break
        }
    }

    /// When `occupancyProposal` may have something to say, beside what the room's own deadline brings.
    private var occupancyDueAt: Timestamp? {
        guard closesWhenIdle else { return nil }
        guard presence.isWithoutPeople else { return state.emptySince == nil ? nil : Timestamp(.min) }
        guard owesOccupancy else { return nil }
        return graces.emptiedAt ?? times.activatedAt.adding(seconds: context.policy.graceSeconds)
    }

    /// When the host has to look at the room, if that is earlier than it knows.
    func noteDue(isLed: Bool, at now: Timestamp) -> Timestamp? {
        guard let due = nextDue(isLed: isLed, at: now) else { return nil }
        if let planned = note.dueAt, planned <= due { return nil }
        note.dueAt = due
        return due
    }

    /// The host's notes of this room, as they are from now on.
    func plan(isLed: Bool, at now: Timestamp) -> RoomAgenda.Plan {
        let former = note.online
        note.online = presence.online
        return RoomAgenda.Plan(
            due: noteDue(isLed: isLed, at: now), graces: noteGraces(), formerOnline: former, online: note.online)
    }

    /// By how much the number of rooms with sessions in their grace changes, as the host knows it.
    func noteGraces() -> Int {
        let hasGraces = !graces.unreachable.isEmpty
        guard hasGraces != note.hasGraces else { return 0 }
        note.hasGraces = hasGraces
        return hasGraces ? 1 : -1
    }

    /// Whether nothing would be lost if this room left memory.
    ///
    /// - Parameter isLed: whether this node leads the room. Elsewhere nobody waits for anything but its rows.
    func mayLeaveMemory(writtenIndex: UInt64, isLed: Bool, at now: Timestamp) -> Bool {
        // Robots are on disk.
        guard presence.sessionCount == state.robotCount, reading.count == 0, entering.arrivals.isEmpty, waiting.isEmpty,
            turn.isEmpty, stream.isEmpty, desk.window.isEmpty, turn.lastChangeIndex <= writtenIndex,
            !isLed || graces.isEmpty && !owesOccupancy
        else {
            times.idleSince = now
            return false
        }
        return now.milliseconds - times.idleSince.milliseconds >= Self.idleMilliseconds
    }

    /// Time passes for the room.
    /// - Returns: whether the time was too short for all that is due.
    func look(at now: Timestamp, isLed: Bool, untilNanoseconds end: UInt64) -> Bool {
        let isLeftOver = isLed && endGraces(at: now, untilNanoseconds: end)
        guard min(note.lookedAt, now).adding(milliseconds: Self.lookMilliseconds) <= now else { return isLeftOver }
        note.lookedAt = now
        if isLed { tick(at: now) }
        return isLeftOver
    }

    /// Deadlines, digests and counts.
    func tick(at now: Timestamp) {
        let due = presence.tick(at: now)
        if !due.isEmpty {
            touch()
            perform(due)
        }
        if let told = budget.reportDueAt, told <= now { touch() }
        if mayProposeDueAt <= now {
            // Before what is due: nobody's room closes.
            if let occupancy = occupancyProposal(at: now) { proposeDue(occupancy, at: now) }
            if let deadline = state.nextDeadline, deadline <= now {
                proposeDue(
                    Proposal(
                        command: Command(
                            id: nil, room: id, actor: .system, body: .expire,
                            facts: facts(state.dueUsers(at: now), .expire)),
                        key: nil, origin: .room), at: now)
            }
        }
        clearAbandonedSeats(at: now)
    }
}
