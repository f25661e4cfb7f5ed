import ChatModel
import RoomCore
import RoomProtocol

/// Checks of debug builds, and so of all tests: once a second they look at every room.
extension ShardHost {
    /// A room that is not to be looked at now would do nothing if it were: nothing is due that the agenda does not know.
    func assertNothingIsOverlooked(at now: Timestamp) {
        assert(isNothingOverlooked(at: now))
    }

    /// The pulse says what a sum over all rooms would say.
    func assertIsWhole(_ tallies: [NodeID: [LaneTally]]) {
        assert(
            tallies.mapValues { Set($0) } == talliesOfAllRooms().mapValues { Set($0) },
            "the sums of lanes are not those of all rooms")
    }

    private func isNothingOverlooked(at now: Timestamp) -> Bool {
        let isLed = ledTerm != nil
        for room in rooms.active {
            guard let fault = room.onLoop({ $0.overlooked(isLed: isLed, at: now) }) else { continue }
            assertionFailure("what is due in the room \(room.id) has not been noted: \(fault)")
        }
        let counts = rooms.active.map { room in
            room.onLoop { $0.turn.dirt == .clean ? $0.presence.online : $0.note.online }
        }
        assert(
            counts.reduce(0, +) == agenda.online && counts.count { $0 > 0 } == agenda.occupied,
            "the sums of people are not those of all rooms")
        return true
    }

    private func talliesOfAllRooms() -> [NodeID: [LaneTally]] {
        var byLane: [Lane: LaneTally] = [:]
        for room in rooms.active {
            for known in room.onLoop({ $0.tallies() }) {
                byLane[known.lane, default: LaneTally(lane: known.lane.number)].add(digest: known.digest)
            }
        }
        return Dictionary(grouping: byLane, by: \.key.node).mapValues { $0.map(\.value) }
    }
}

extension RoomActor {
    /// The thing that this room would do now although it is to be looked at later; nil: nothing.
    fileprivate func overlooked(isLed: Bool, at now: Timestamp) -> String? {
        // A change of this turn is noted with its end.
        guard turn.dirt != .reported else { return nil }
        guard turn.dirt == .clean, turn.proposed.isEmpty else { return "the host has not been told of a change" }
        let isDue = note.dueAt.map { $0 <= now } ?? false
        let isTooEarly = min(note.lookedAt, now).adding(milliseconds: Self.lookMilliseconds) > now
        guard !isDue, !isTooEarly else { return nil }
        if note.dueAt == nil, presence.sessionCount == state.robotCount { return "it stays in memory for ever" }
        guard isLed else { return nil }
        if graces.nextEnd.map({ $0 <= now }) ?? false { return "a grace ends" }
        tick(at: now)
        return turn.dirt == .clean && turn.proposed.isEmpty ? nil : "a tick does something"
    }
}
