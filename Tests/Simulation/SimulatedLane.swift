import ChatModel
import LinkCore
import RoomLink
import SessionCore
import Sharding

/// One lane of a gateway, on one loop: the real book of open calls, of streams that are awaited and of who is in which
/// room, the watch over leaders, sessions, and the places of the hubs.
final class SimulatedLane {
    /// The viewers of one room, and what they have been shown or could not take.
    struct Hub {
        var viewers: [SimulatedSocket] = []
        var shown = ShownStream()
    }

    unowned let node: SimulatedNode
    let number: Int
    var open = OpenCalls()
    var awaited = AwaitedStreams()
    var roster = LaneRoster()
    var watch = StreamWatch()
    var sessions: [SessionID: SimulatedSession] = [:]
    var hubs: [RoomID: Hub] = [:]
    /// In the order of connecting.
    var sockets: [SimulatedSocket] = []
    var dirty: [SimulatedSocket] = []
    var nextSession = 1
    /// This gateway's share of connects.
    var admission = TokenBucket(ratePerSecond: 100, burst: 50, nowMilliseconds: 0)

    init(_ node: SimulatedNode, _ number: Int) { (self.node, self.number) = (node, number) }
}

/// One loop of a node: its lane, its shards, and what it knows of the links. All of a turn belongs to one loop.
struct SimulatedLoop {
    /// A frame that is handed over to the links' loop at the end of the turn.
    struct Outgoing {
        var payload: [UInt8]
        var lane: LinkLane
        var node: NodeID
        var parcel: LinkParcel?
        /// For a planted fault: how many connections to the node had ended, as far as this loop knew.
        var ends: Int
    }

    let lane: SimulatedLane
    /// As `LinkSender` has it.
    var known = KnownConnections()
    var knownEnds: [NodeID: Int] = [:]
    var outgoing: [Outgoing] = []
    /// Nodes that its rooms can't reach.
    var lostNodes: Set<NodeID> = []
    /// Lanes that want to know room by room what is believed of them.
    var tallyRequests: [(node: NodeID, request: TallyRequest)] = []
    var isPulseDue = false
    var ticks = 0
    /// Jobs are done in the order in which they were given.
    var lastJobAt = Duration.zero
}

/// Who leads, as `Node.ShardLeaders` has it.
struct KnownLeader {
    var node: Int
    var term: UInt64
    var isDoubted = false
}
