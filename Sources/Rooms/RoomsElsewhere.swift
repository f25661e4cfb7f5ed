import ChatModel
import RoomLink

/// Rooms that other nodes lead, for the server API's calls. Implemented by the node.
public protocol RoomsElsewhere: Sendable {
    /// Who leads a shard, maybe this node; nil while nobody is known to.
    func leader(of shard: ShardID) -> NodeID?
    /// Asks a room where it is led. Throws 503 with the field `leader` where that node does not lead it.
    func ask(_ node: NodeID, _ room: RoomID, _ question: RoomQuestion) async throws(ChatError) -> RoomAnswer
}
