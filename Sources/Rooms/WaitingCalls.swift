import ChatModel
import EventLoop
import RoomProtocol

/// Calls of sessions and of the server API that have come to a loop's rooms and wait for their turn: as many as come at
/// once need not all be answered in one turn.
struct WaitingCalls {
    /// Calls above this number are taken at once, however long the turn gets: the loop can't keep up, and reading from
    /// clients is to be slowed down by that.
    static let countMax = 65_536
    /// How many are taken between two looks at the clock.
    static let callsAtATime = 32

    private var calls = Fifo<(shard: ShardID, work: RoomWork)>()

    var isEmpty: Bool { calls.isEmpty }
    var count: Int { calls.count }

    mutating func append(_ work: RoomWork, of shard: ShardID) { calls.append((shard, work)) }

    /// The next call, which is let go of here.
    mutating func popFirst() -> (shard: ShardID, work: RoomWork)? { calls.popFirst() }

    /// Whether more wait than may.
    var isOverfull: Bool { calls.count > Self.countMax }
}
