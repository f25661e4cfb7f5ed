import ChatModel
import RoomProtocol

extension LaneRoster {
    /// A session is in the room from now on.
    mutating func add(_ session: LaneSession, to room: RoomID, of shard: ShardID) {
        add(session.hash, to: room, of: shard)
    }

    /// A session that was in the room is not any more.
    mutating func remove(_ session: LaneSession, from room: RoomID, of shard: ShardID) {
        remove(session.hash, from: room, of: shard)
    }
}
