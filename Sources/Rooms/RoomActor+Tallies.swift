import ChatModel
import RoomCore
import RoomLink
import RoomStream

/// What a room believes of the lanes that it tells things, so that they find out when they have something else
/// (`ShardPulse`).
extension RoomActor {
    /// Of each lane that has sessions here. Those that are only waited for, because their node could not be reached, are
    /// left out: a lane that has them announces them.
    func tallies(of only: Lane? = nil) -> [(lane: Lane, tally: RoomTally)] {
        guard !presence.lanes.isEmpty else { return [] }
        var missing: [Lane: (count: UInt64, sum: UInt64)] = [:]
        for key in unreachable.keys {
            guard let visitor = presence.visitor(key) else { continue }
            missing[visitor.lane, default: (0, 0)].count += 1
            missing[visitor.lane, default: (0, 0)].sum &+= SampleHash.sender(key.session)
        }
        var all: [(lane: Lane, tally: RoomTally)] = []
        for lane in presence.lanes where only.map({ $0 == lane }) ?? true {
            let (count, sum) = presence.tally(of: lane)
            let gone = missing[lane] ?? (0, 0)
            guard count > gone.count else { continue }
            all.append(
                (
                    lane,
                    RoomTally(
                        room: id, sessions: count - gone.count, sum: sum &- gone.sum, seq: state.lastSeq,
                        isWaiting: stream.isWaiting(lane))
                ))
        }
        return all
    }

    /// A lane announces all of its sessions that are here: those that it does not announce are in their grace.
    func recount(_ lane: Lane, at now: Timestamp) {
        for key in presence.keys(on: lane.node) where unreachable[key] == nil {
            if presence.visitor(key)?.laneNumber == lane.number { lose(key, at: now) }
        }
        touch()
    }
}
