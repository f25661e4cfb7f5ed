import ChatModel
import Wire

/// The place of a session: a room's leader needs it to answer.
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
    /// When a gateway last took the session up without its holder, which could not be reached; nil: never. The
    /// copy of a session with the later time counts (PROTOCOL.md, "Resume").
    public var revivedAt: Timestamp?

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
public struct SessionStay: Sendable, Hashable {
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
    /// The lane has said so before, first under this number, and has not taken what came then: it is to be told all of it
    /// again. 0: it has taken all that came.
    public var untaken: UInt64 = 0

    public init(epoch: String, seq: UInt64) {
        self.epoch = epoch
        self.seq = seq
    }
}
