import ChatModel
import Consensus
import RoomLink
import SessionCore

/// A gateway of one lane: the real book of open calls and of streams that are awaited, sessions, and the places of the hubs.
struct SimulatedLane {
    /// The viewers of one room, and what they have been shown or could not take.
    struct Hub {
        var viewers: [SimulatedSocket] = []
        var place = StreamPlace(epoch: "", seq: .max)
    }

    /// Who leads, as `Node.ShardLeaders` has it.
    struct KnownLeader {
        var node: Int
        var term: UInt64
        var isDoubted = false
    }

    var open = OpenCalls()
    var awaited = AwaitedStreams()
    var bodies = AwaitedBodies()
    /// Whether a look at them is to come.
    var looksForBodies = false
    var sessions: [SessionID: SimulatedSession] = [:]
    var hubs: [RoomID: Hub] = [:]
    /// In the order of connecting.
    var sockets: [SimulatedSocket] = []
    var dirty: [SimulatedSocket] = []
    var leaders: [GroupID: KnownLeader] = [:]
    var nextSession = 1
    /// This gateway's share of connects.
    var admission = TokenBucket(ratePerSecond: 100, burst: 50, nowMilliseconds: 0)
}
