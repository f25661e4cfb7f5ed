import ChatModel
import EventLoop
import RoomCore
import RoomProtocol

/// Tells lanes what this leader believes of them, behind what its rooms have told.
extension ShardHost {
    /// The tallies of the lanes of all nodes; nil while this node does not lead the shard.
    func pulse() -> (notice: ShardNotice, tallies: [NodeID: [LaneTally]])? {
        guard let notice else { return nil }
        var tallies: [NodeID: [LaneTally]] = [:]
        for (lane, tally) in agenda.tallies() { tallies[lane.node, default: []].append(tally) }
        assertIsWhole(tallies)
        return (notice, tallies)
    }

    /// The same of one lane and some rooms, room by room. Beyond the bound of an answer it says that it is not whole.
    func tallies(of lane: Lane, _ part: RoomPart) -> ShardTallies {
        var answer = ShardTallies(shard: shard, lane: lane.number, term: ledTerm, part: part)
        guard ledTerm != nil else { return answer }
        for room in rooms.active where part.contains(named: room.number) {
            guard let known = room.onLoop({ $0.tallies() }).first(where: { $0.lane == lane }) else { continue }
            guard answer.rooms.count < ShardTallies.roomsMax else {
                answer.isWhole = false
                return answer
            }
            answer.rooms.append(known.tally)
        }
        return answer
    }
}
