import ChatModel
import RoomLink

/// Rooms that other nodes lead, for the server API's calls. Implemented by the node.
public protocol RoomsElsewhere: Sendable {
    /// The leader of a shard.
    func leader(of shard: ShardID) -> KnownLeader
    /// Returns when a leader of the shard has become known since `former` was read, at the latest at `deadline`.
    func leaderChange(of shard: ShardID, since former: KnownLeader, until deadline: ContinuousClock.Instant) async
    /// Asks a room where it is led. Throws 503 with the field `leader` where that node does not lead it.
    func ask(_ node: NodeID, _ room: RoomID, _ question: RoomQuestion) async throws(ChatError) -> RoomAnswer
}

/// A node's knowledge of who leads a shard.
public struct KnownLeader: Sendable, Hashable {
    /// Maybe the node itself; nil while nobody is known to lead.
    public var node: NodeID?
    /// Grows whenever a leader becomes known, be it the former one again.
    public var version: UInt64

    public init(_ node: NodeID?, version: UInt64) {
        self.node = node
        self.version = version
    }
}
