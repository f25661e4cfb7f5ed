import ChatModel
import RoomCore

/// Presence is soft, but a room that closes when it is idle must close on time after a restart too: its leader logs
/// when it becomes empty, and when somebody comes after that.
///
/// Empty means: without people. Robots are there to make a room look alive; with them as "anyone" a room
/// that has some would never close (PROTOCOL.md, "Closing a room"). A session in its grace is still here.
extension RoomActor {
    /// To be called when somebody has come or gone.
    func noteEmptiness() {
        if graces.hadPeople, presence.isWithoutPeople { graces.emptiedAt = context.now() }
        graces.hadPeople = !presence.isWithoutPeople
    }

    var closesWhenIdle: Bool { state.closesWhenIdle }

    /// Whether the log does not know yet that everybody has left, or when.
    var owesOccupancy: Bool {
        guard closesWhenIdle, presence.isWithoutPeople else { return false }
        guard let emptySince = state.emptySince else { return true }
        return graces.emptiedAt.map { $0 > emptySince } ?? false
    }

    /// The occupancy that the log has to learn; nil when it knows. Asked once a second, so that coming and going costs
    /// nothing.
    func occupancyProposal(at now: Timestamp) -> Proposal? {
        guard closesWhenIdle else { return nil }
        let emptySince: Timestamp?
        if !presence.isWithoutPeople {
            guard state.emptySince != nil else { return nil }
            emptySince = nil
        } else if let doubted = doubtedEmptiness(at: now) {
            (graces.doubtedSince, emptySince) = (doubted, nil)
        } else {
            guard owesOccupancy else { return nil }
            // After a restart: whoever was here and has not come back within the grace left with the former leader.
            guard graces.emptiedAt != nil || now >= times.activatedAt.adding(seconds: context.policy.graceSeconds)
            else {
                return nil
            }
            emptySince = graces.emptiedAt ?? graces.doubtedSince ?? times.activatedAt
        }
        return Proposal(
            command: Command(
                id: nil, room: id, actor: .system, body: .occupancy(emptySince: emptySince), facts: facts([])),
            key: nil, origin: .room)
    }

    /// Since when nobody has been here as far as the log knows, if the room would close for that now and it may be
    /// wrong: somebody came, the former leader died before it was logged, and the gateways have not announced everybody
    /// yet.
    private func doubtedEmptiness(at now: Timestamp) -> Timestamp? {
        guard let emptySince = state.emptySince, emptySince < times.ledSince, graces.emptiedAt == nil,
            let deadline = state.idleDeadline, deadline <= now,
            now < takeoverEnd
        else { return nil }
        return emptySince
    }
}
