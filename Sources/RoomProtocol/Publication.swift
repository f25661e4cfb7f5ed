import ChatModel
import Wire

/// One thing that a room tells a lane. A lane performs them in order, so that per room and lane acks, enter results and
/// messages are one ordered stream (PROTOCOL.md, "Order"). Answers are boxed: they are large, and copied on their way.
public enum RoomOutput: Sendable, Equatable {
    /// `isRepeat`: a `clientId` again, which costs no rate. `charged`: bytes that the change has brought along besides
    /// its request, for the session's rate in bytes: what a COMBINE copies, or was read for one that is refused.
    indirect case reply(
        SessionID, request: UInt32, Result<OperationResult, ChatError>, isRepeat: Bool = false, charged: Int = 0)
    /// The answer to an enter. On success the session sees what follows this, and the reply's seq is the stream's here.
    /// `missedAfter`: the result's `missed` is the `missed` that was said of this seq.
    indirect case entered(SessionID, request: UInt32?, Result<EnterResult, ChatError>, missedAfter: UInt64? = nil)
    /// The missed messages of sessions that had everything up to a seq and whose answers follow. nil: no answer that
    /// follows refers to what was said so far.
    case missed(MissedMessages?)
    /// The session has left: it sees nothing that follows.
    case exited(SessionID, request: UInt32?)
    /// The session is put out, for a reason that it is told.
    case kicked(SessionID, KickReason, ext: String?)
    /// Another node has taken the session up: an older copy of it on the lane ends, and tells nobody.
    case takenOver(TakenSession)
    /// For all viewers of the room.
    case frame(SharedFrame)
    /// For some of them: directed messages, barrage echoes.
    case frameFor([SessionID], SharedFrame)
    /// For all but some: they get their own version by `frameFor`.
    case frameExcept([SessionID], SharedFrame)
    /// The call was not taken, because this node does not lead the room, or does so no more: it is to be asked again
    /// where the leader is.
    case retry(SessionID, request: UInt32)
    /// The session's profile in the room from here on.
    case profile(SessionID, Profile)
    /// These kept messages are too many to be shown again to viewers that a dead leader had not told of them.
    case gap(ClosedRange<UInt64>)
    /// From here on the room's stream goes on from what the lane said in the `follow` of this number: what the lane
    /// lacks up to `through` comes now.
    case following(UInt64, through: UInt64 = 0)
    /// The session's right to speak from here on.
    case voice(SessionID, Voice)
    /// Whether only creator and managers may speak from here on.
    case silence(Bool)
    /// The leader has counted a window of the lane's in the `barrage` that follows, which shows these of its
    /// candidates.
    case barrageReceipt(window: UInt64, shown: [UInt32])
    /// Items of the session that the `barrage` that follows does not show.
    case barrageEcho(SessionID, [BarrageItem])
    /// The end of a barrage window, for all viewers: what it shows, and how many items it leaves out. A session that
    /// gets an echo is told of so many fewer.
    case barrage(SharedFrame?, skipped: Int)
    /// The end of a window of taps of the lane's: `TapMemory.results`, or why it was not counted at all.
    case taps(window: UInt64, Result<[Int64], ChatError>)

    /// Whether it says nothing of the room, only how a call has ended.
    public var isAnswer: Bool {
        switch self {
        case .reply, .retry, .entered(_, _, .failure, _), .taps: true
        default: false
        }
    }
}

/// A node says that it leads a shard and has applied all that its predecessors have committed.
public struct ShardNotice: Sendable, Hashable {
    public var shard: ShardID
    public var term: UInt64

    public init(shard: ShardID, term: UInt64) {
        self.shard = shard
        self.term = term
    }
}

/// Takes what rooms tell to the lanes of gateways, on this node and others. Implemented by the node, given to room
/// hosts; called on a room loop.
public protocol PublicationSink: Sendable {
    /// Hands over everything that one turn of a room loop has for all nodes; what each gets is in order.
    func deliver(_ turn: [NodeID: [NodePublication]])
    /// This node leads a shard from now on: all nodes are to be told, before anything that its rooms say.
    func onLeading(_ notice: ShardNotice)
    /// This node leads a shard no more.
    func onLeadingEnded(_ shard: ShardID)
    /// This node's replica of a shard follows the leader of that term, maybe one that it had doubted.
    func onLeaderConfirmed(_ leader: NodeID, _ notice: ShardNotice)
    /// This node's replica of a shard has not heard the leader of that term for an election timeout: whoever waits for
    /// it here looks out for the next.
    func onLeaderSuspected(_ leader: NodeID, _ notice: ShardNotice)
    /// Once a second of each room loop, behind what its rooms have told: what this node leads there is said to every
    /// node, with what is known of its lanes.
    func pulse(_ led: [ShardNotice], _ tallies: [NodeID: [ShardID: [LaneTally]]])
    /// Hands over how calls of the server API have ended in one turn of a room loop, behind what its rooms have told.
    func answer(_ answers: [NodeID: [ServerAnswer]])
    /// Answers a lane of that node, behind what the shard's rooms have told.
    func notify(_ tallies: ShardTallies, to node: NodeID)
    /// Tells other replicas of a shard that this node leads who is here. In order for each; nobody is told when it gets
    /// lost with the connection.
    func replicate(_ update: PresenceUpdate, to nodes: [NodeID])
}
