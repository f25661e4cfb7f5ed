import ChatModel
import Wire

/// Where a session is: what a room's leader needs to answer it.
public struct SessionAddress: Sendable, Hashable {
    public var node: NodeID
    /// The loop of that node on which the session's connection lives.
    public var lane: Int
    public var session: SessionID
    /// The encoding that its connection understands, so that rooms encode nothing that nobody reads.
    public var encoding: ClientEncoding

    public init(node: NodeID, lane: Int, session: SessionID, encoding: ClientEncoding) {
        self.node = node
        self.lane = lane
        self.session = session
        self.encoding = encoding
    }
}

/// The caller, as the gateway has authenticated it.
public struct Caller: Sendable, Hashable {
    public var user: UserID
    public var anonymous: Bool
    public var device: Device
    /// The token's `rooms` claim; nil allows all.
    public var rooms: [RoomID]?
    /// For an anonymous session: the hash of its client's address, alike on all nodes; not the address itself.
    public var addressHash: UInt64?
    /// The token's nick and avatar: the last fallback of the profile.
    public var tokenProfile: Profile

    public init(
        user: UserID, anonymous: Bool, device: Device = .web, rooms: [RoomID]? = nil,
        tokenProfile: Profile = Profile()
    ) {
        self.user = user
        self.anonymous = anonymous
        self.device = device
        self.rooms = rooms
        self.tokenProfile = tokenProfile
    }
}

/// A session's stay in a room, as its gateway knows it: soft state that survives the room's leader.
public struct Stay: Sendable, Hashable {
    public var profile: Profile
    /// When the session entered, by the clock of the leader of that time.
    public var enteredAt: Timestamp
    public var notifyExt: String?
    /// The client's connection is gone; the session is in its grace.
    public var isAway: Bool

    public init(profile: Profile, enteredAt: Timestamp, notifyExt: String? = nil, isAway: Bool = false) {
        self.profile = profile
        self.enteredAt = enteredAt
        self.notifyExt = notifyExt
        self.isAway = isAway
    }
}

/// Up to where a lane has been told what a room showed.
public struct StreamPlace: Sendable, Hashable {
    /// The epoch of the room's life; see `EnterResult.epoch`.
    public var epoch: String
    public var seq: UInt64

    public init(epoch: String, seq: UInt64) {
        self.epoch = epoch
        self.seq = seq
    }
}

/// A session's call to a room. One value per client request: batches of them travel once per loop turn.
public struct RoomCall: Sendable, Equatable {
    public enum Body: Sendable, Equatable {
        case operation(ClientOperation)
        /// The session has ended or its grace has passed: an exit that nobody waits for.
        case leave
        /// The client's connection is gone; its session is in its grace.
        case away
        /// The client is back; its session may live on another lane now, or have come from another node.
        case moved(from: NodeID?)
        /// To a new leader: the session is in the room already.
        case announce(Stay)
        /// To a new leader, behind the announcements of all of the lane's sessions in the room: what the lane has seen.
        case follow(StreamPlace)
        /// The barrage of a window, of several sessions; droppable. The call's session is any of the lane.
        case barrages(BarrageBatch)
    }

    public var room: RoomID
    public var address: SessionAddress
    public var caller: Caller
    /// Under which number the gateway knows the request, of all that the session asks; nil wants no reply.
    public var request: UInt32?
    /// Counts the session's requests, so that the leader knows one that is repeated because a node has died; 0 where
    /// nothing is to be repeated. With `follow` it is the number that the leader says when it goes on
    /// (`RoomOutput.following`).
    public var number: UInt64
    public var body: Body
    /// The rooms that the session is in, where the operation needs them: for a COMBINE.
    public var rooms: [RoomID]
    /// The session is beyond its rate: only a repeat of what has been answered is answered, all else refused with 416
    /// and this wait, in milliseconds.
    public var overRateMs: Int64?

    public init(
        room: RoomID, address: SessionAddress, caller: Caller, request: UInt32?, number: UInt64 = 0, body: Body,
        rooms: [RoomID] = []
    ) {
        self.room = room
        self.address = address
        self.caller = caller
        self.request = request
        self.number = number
        self.body = body
        self.rooms = rooms
    }
}

extension RoomCall {
    /// Whether a leader that has it already does nothing twice when it comes once more: reads do nothing, what is
    /// durable has a command ID, and who enters or leaves again is where it was. Barrage has none, and would be shown
    /// twice.
    public var isKnownWhenRepeated: Bool { if case .operation(.barrage(_)) = body { false } else { true } }

    /// Whether it is asked once more of a leader that has not answered it for long.
    var isAskedAgain: Bool {
        // Reading history once more would cost as much again.
        if case .operation(let operation) = body, operation.row.handling == .reading { return false }
        return isKnownWhenRepeated
    }
}

/// Takes calls to nodes that lead rooms. Implemented by the node, given to gateways.
public protocol RoomRouter: Sendable {
    /// Hands over what one lane's loop turn has for one node, in order. Called on the lane's loop. Calls that do not
    /// arrive there are asked again when the connection to that node is known to have ended.
    func route(_ calls: [RoomCall], to node: NodeID, from lane: Int)
    /// Asks the leader of a shard what it knows of a lane.
    func ask(_ request: TallyRequest, of node: NodeID)
    /// Behind what the lane has routed to that node.
    func recount(_ recount: LaneRecount, at node: NodeID)
    /// Tells every other node that is reached what users have asked for at this one. Nobody is told when that gets
    /// lost.
    func tell(_ uses: [UserUse])
    /// Nothing is heard of what another node leads: the connection to it is of no use, and is to be made anew.
    func drop(_ node: NodeID)
    /// Whether that node says pulses of what it leads: one of an older version does not, and its silence means nothing.
    func saysPulses(_ node: NodeID) -> Bool
}

extension RoomRouter {
    public func ask(_ request: TallyRequest, of node: NodeID) {}
    public func recount(_ recount: LaneRecount, at node: NodeID) {}
    public func tell(_ uses: [UserUse]) {}
    public func drop(_ node: NodeID) {}
    public func saysPulses(_ node: NodeID) -> Bool { true }
}
