import ChatModel
import RoomCore
import RoomProtocol

/// A room's belief about the lanes that it publishes to, so that they find out when they have something else
/// (`ShardPulse`).
extension RoomActor {
    /// The inputs of tallies: while they are the same, so are the tallies.
    struct TallyStamp: Equatable {
        var seq: UInt64
        var presence: UInt64
        var unreachable: UInt64
        var waiting: UInt64
    }

    /// The tally of one lane that has sessions here.
    struct LaneRoomTally {
        var lane: Lane
        var tally: RoomTally
        var digest: UInt64
    }

    /// The tally of each lane that has sessions here. Those that are only waited for, because their node could not be
    /// reached, are left out: a lane that has them announces them. Made anew only where something has changed since
    /// they were asked for.
    func tallies() -> [LaneRoomTally] {
        let stamp = TallyStamp(
            seq: state.lastSeq, presence: presence.laneVersion, unreachable: graces.unreachableVersion,
            waiting: stream.waitingVersion)
        if let known = laneTallies, known.stamp == stamp { return known.tallies }
        let tallies = presence.lanes.isEmpty ? [] : makeTallies()
        laneTallies = (stamp, tallies)
        return tallies
    }

    private func makeTallies() -> [LaneRoomTally] {
        var missing: [Lane: (count: UInt64, sum: UInt64)] = [:]
        for key in graces.unreachable.keys {
            guard let visitor = presence.visitor(key) else { continue }
            missing[visitor.lane, default: (0, 0)].count += 1
            missing[visitor.lane, default: (0, 0)].sum &+= SampleHash.sender(key.session)
        }
        var all: [LaneRoomTally] = []
        for lane in presence.lanes {
            let (count, sum) = inPlace(&presence) { $0.tally(of: lane) }
            let gone = missing[lane] ?? (0, 0)
            guard count > gone.count else { continue }
            let tally = RoomTally(
                room: id, sessions: count - gone.count, sum: sum &- gone.sum, seq: state.lastSeq,
                isWaiting: stream.isWaiting(lane))
            all.append(LaneRoomTally(lane: lane, tally: tally, digest: tally.digest(named: number)))
        }
        return all
    }

    /// A lane announces all of its sessions that are here: those that it does not announce are in their grace.
    func recount(_ lane: Lane, at now: Timestamp) {
        for key in presence.keys(on: lane) where graces.unreachable[key] == nil { lose(key, at: now) }
        touch()
    }
}
