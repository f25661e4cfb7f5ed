import ChatModel
import Wire

/// A session as one gateway node hands it over to another, to which its client has come back.
public struct HandedSession: Sendable, Equatable {
    public var user: UserID
    public var anonymous: Bool
    public var device: Device
    /// When its last token was issued, as far as that said.
    public var issuedAt: Timestamp?
    public var startedAt: Timestamp
    /// Requests that were passed on to rooms: the numbers go on, so that none is taken for a repeat.
    public var requestCount: UInt64
    /// The rooms it is in, in the order of entering, with what their leaders were told of it.
    public var stays: [RoomStay]
    /// The rest of its rates; nil where a node of an older version hands it over, which does not say.
    public var levels: RateLevels?
    /// The same of its user, as far as the node that hands it over knows; nil: nothing has been taken of them lately.
    public var userLevels: RateLevels?
    /// Kicks that its client has not been told, because it was away.
    public var kicks: [KickedPush] = []
    /// `Caller.revivedAt`.
    public var revivedAt: Timestamp?

    /// A stay with its room.
    public struct RoomStay: Sendable, Equatable {
        public var room: RoomID
        public var stay: SessionStay

        public init(room: RoomID, stay: SessionStay) {
            self.room = room
            self.stay = stay
        }
    }

    public init(
        user: UserID, anonymous: Bool, device: Device, issuedAt: Timestamp? = nil, startedAt: Timestamp,
        requestCount: UInt64 = 0, stays: [RoomStay] = []
    ) {
        self.user = user
        self.anonymous = anonymous
        self.device = device
        self.issuedAt = issuedAt
        self.startedAt = startedAt
        self.requestCount = requestCount
        self.stays = stays
    }
}
