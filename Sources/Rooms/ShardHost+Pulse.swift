import ChatModel
import EventLoop
import RoomCore
import RoomLink

/// Tells lanes what this leader believes of them, behind what its rooms have told.
extension ShardHost {
    /// What is known of the lanes of all nodes; nil while this node does not lead the shard.
    func pulse() -> (notice: ShardNotice, tallies: [NodeID: [LaneTally]])? {
        guard let notice else { return nil }
        var tallies: [NodeID: [LaneTally]] = [:]
        for room in rooms.active {
            for (lane, tally) in room.assumeIsolated({ $0.tallies() }) {
                var lanes = tallies.removeValue(forKey: lane.node) ?? []
                if let place = lanes.firstIndex(where: { $0.lane == lane.number }) {
                    lanes[place].add(tally)
                } else {
                    var first = LaneTally(lane: lane.number)
                    first.add(tally)
                    lanes.append(first)
                }
                tallies[lane.node] = lanes
            }
        }
        return (notice, tallies)
    }

    /// The same of one lane, room by room. Beyond the bound of an answer it says that it is not whole.
    func tallies(of lane: Lane) -> ShardTallies {
        var answer = ShardTallies(shard: shard, lane: lane.number, term: ledTerm)
        guard ledTerm != nil else { return answer }
        for room in rooms.active {
            guard let tally = room.assumeIsolated({ $0.tallies(of: lane) }).first?.tally else { continue }
            guard answer.rooms.count < ShardTallies.roomsMax else {
                answer.isWhole = false
                return answer
            }
            answer.rooms.append(tally)
        }
        return answer
    }
}
