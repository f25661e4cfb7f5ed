import ChatModel

/// The reply to `connect`.
public struct ConnectResult: WireMessage, Hashable {
    /// To be given at the next `connect`, to take this session over.
    public var session: SessionID
    public var user: UserID
    /// The server's clock.
    public var time: Timestamp
    public var anonymous = false
    public var heartbeatSeconds: Int64 = 15
    /// Advertised URLs, best first.
    public var gateways: [String] = []
    /// Whether the session given was taken over.
    public var resumed = false
    /// The features that every node of the cluster serves (PROTOCOL.md, "Versions").
    public var features: [String] = []
    /// The user's sessions, this one among them, the earliest first (PROTOCOL.md, "Devices").
    public var devices: [ConnectedDevice] = []

    public static var blank: ConnectResult { ConnectResult(session: .blank, user: .blank, time: .blank) }

    public init(
        session: SessionID, user: UserID, time: Timestamp, anonymous: Bool = false, heartbeatSeconds: Int64 = 15,
        gateways: [String] = [], resumed: Bool = false, features: [String] = []
    ) {
        self.session = session
        self.user = user
        self.time = time
        self.anonymous = anonymous
        self.heartbeatSeconds = heartbeatSeconds
        self.gateways = gateways
        self.resumed = resumed
        self.features = features
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "user", &user)
        try walker.shown(3, "anonymous", &anonymous)
        try walker.shown(4, "heartbeatSeconds", &heartbeatSeconds)
        try walker.shown(5, "time", &time)
        try walker.list(6, "gateways", &gateways)
        try walker.defaulted(7, "resumed", &resumed, default: false)
        try walker.list(8, "features", &features)
        try walker.list(9, "devices", &devices)
    }
}

/// The reply to `refresh`.
public struct RefreshResult: WireMessage, Hashable {
    public var expiresAt: Timestamp

    public static var blank: RefreshResult { RefreshResult(expiresAt: .blank) }

    public init(expiresAt: Timestamp) { self.expiresAt = expiresAt }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "expiresAt", &expiresAt)
    }
}

/// The reply to `ping`.
public struct PingResult: WireMessage, Hashable {
    /// The server's clock.
    public var time: Timestamp

    public static var blank: PingResult { PingResult(time: .blank) }

    public init(time: Timestamp) { self.time = time }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "time", &time)
    }
}

/// The reply to `enter`. Live pushes begin with the seq after `seq`.
public struct EnterResult: WireMessage, Hashable {
    public var room: RoomView
    public var me: Member
    /// The life of the room that seqs count in.
    public var epoch: String
    /// The last seq that the reply covers.
    public var seq: UInt64
    /// As of `seq`; there if it was asked for. Read from protobuf, an empty queue is nil.
    public var queue: [QueueElement]?
    /// Whether `missed` (and, with `missedMore`, history) closes the hole since `since`.
    public var recovered: Bool?
    /// The messages after `since`; or, without it and where it can't be recovered, the newest that `history` asked for,
    /// up to `seq`. Oldest first, at most 100. Read from protobuf, an empty list is nil.
    public var missed: [Message]?
    /// Whether history holds more, up to `seq`. There when `missed` begins behind `since`.
    public var missedMore: Bool?
    /// There when `queue` holds only the first elements: what `queue` takes as `after` for the others.
    public var queueNext: String?
    /// There if it was asked for. Read from protobuf, an empty list is nil.
    public var tallies: [Tally]?
    /// For the room's content. There where the cluster stores any.
    public var media: MediaToken?

    public static var blank: EnterResult { EnterResult(room: .blank, me: .blank, epoch: "", seq: 0) }

    public init(
        room: RoomView, me: Member, epoch: String, seq: UInt64, queue: [QueueElement]? = nil, recovered: Bool? = nil,
        missed: [Message]? = nil, missedMore: Bool? = nil
    ) {
        self.room = room
        self.me = me
        self.epoch = epoch
        self.seq = seq
        self.queue = queue
        self.recovered = recovered
        self.missed = missed
        self.missedMore = missedMore
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walkHead(&walker)
        try walker.repeatedIfAny(Self.missedNumber, "missed", &missed)
        try walkEnd(&walker)
    }

    static let missedNumber = 7

    /// The fields in front of `missed`.
    mutating func walkHead<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "me", &me)
        try walker.required(3, "epoch", &epoch)
        try walker.shown(4, "seq", &seq)
        try walker.repeatedIfAny(5, "queue", &queue)
        try walker.optional(6, "recovered", &recovered)
    }

    /// The fields behind `missed`.
    mutating func walkEnd<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(8, "missedMore", &missedMore)
        try walker.optional(9, "queueNext", &queueNext)
        try walker.repeatedIfAny(10, "tallies", &tallies)
        try walker.optional(11, "media", &media)
    }
}

/// The reply to `send`.
public struct SendResult: WireMessage, Hashable {
    public var messageID: String
    public var time: Timestamp
    /// `seq` if the message is kept, else `after`.
    public var place = MessagePlace.outside
    /// There if it was lowered.
    public var priority: Priority?
    /// How many of the users in `to` are here; there if `to` was given.
    public var delivered: Int64?
    /// The message waits for a manager (PROTOCOL.md, "Held messages"): nothing else is there then.
    public var heldID: String?

    public static var blank: SendResult { SendResult(messageID: "", time: .blank) }

    public init(
        messageID: String, time: Timestamp, place: MessagePlace = .outside, priority: Priority? = nil,
        delivered: Int64? = nil
    ) {
        self.messageID = messageID
        self.time = time
        self.place = place
        self.priority = priority
        self.delivered = delivered
    }

    public init(heldID: String) {
        self.init(messageID: "", time: .blank)
        self.heldID = heldID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (sentID, sentAt): (String?, Timestamp?) = heldID == nil ? (messageID, time) : (nil, nil)
        try walker.optional(1, "messageId", &sentID)
        try walker.optional(2, "time", &sentAt)
        try place.walk(&walker, seq: 3, after: 4)
        try walker.optional(5, "priority", &priority)
        try walker.optional(6, "delivered", &delivered)
        try walker.optional(7, "heldId", &heldID)
        guard W.isDecoding else { return }
        if sentID == nil, heldID == nil { throw .missing("messageId") }
        (messageID, time) = (sentID ?? "", sentAt ?? .blank)
    }
}

/// The reply to a `barrage` that has a request ID.
public struct BarrageResult: WireMessage, Hashable {
    public var accepted = true

    /// Protobuf leaves a false one out.
    public static var blank: BarrageResult { BarrageResult(accepted: false) }

    public init(accepted: Bool = true) { self.accepted = accepted }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "accepted", &accepted)
    }
}

/// The reply to `combined` and `history`.
public struct MessagesResult: WireMessage, Hashable {
    public var messages: [Message]
    /// `history`: whether a page follows.
    public var more: Bool?

    public static var blank: MessagesResult { MessagesResult(messages: []) }

    public init(messages: [Message], more: Bool? = nil) {
        self.messages = messages
        self.more = more
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "messages", &messages)
        try walker.optional(2, "more", &more)
    }
}

/// The reply to `room` and `updateRoom`.
public struct RoomResult: WireMessage, Hashable {
    public var room: RoomView
    /// `room`: the seq that the room is at.
    public var seq: UInt64?

    public static var blank: RoomResult { RoomResult(room: .blank) }

    public init(room: RoomView, seq: UInt64? = nil) {
        self.room = room
        self.seq = seq
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "seq", &seq)
    }
}

/// The reply to `members` and `membersById`.
public struct MembersResult: WireMessage, Hashable {
    public var members: [Member]
    /// The cursor of the next page; absent on the last.
    public var next: String?

    public static var blank: MembersResult { MembersResult(members: []) }

    public init(members: [Member], next: String? = nil) {
        self.members = members
        self.next = next
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "members", &members)
        try walker.optional(2, "next", &next)
    }
}

/// The reply to what changes a member.
public struct MemberResult: WireMessage, Hashable {
    public var member: Member

    public static var blank: MemberResult { MemberResult(member: .blank) }

    public init(member: Member) { self.member = member }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "member", &member)
    }
}

/// The reply to `queue`.
public struct QueueResult: WireMessage, Hashable {
    public var elements: [QueueElement]
    /// The elements are as of this seq.
    public var seq: UInt64
    /// The cursor of the next page; absent on the last.
    public var next: String?

    public static var blank: QueueResult { QueueResult(elements: [], seq: 0) }

    public init(elements: [QueueElement], seq: UInt64, next: String? = nil) {
        self.elements = elements
        self.seq = seq
        self.next = next
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "elements", &elements)
        try walker.shown(2, "seq", &seq)
        try walker.optional(3, "next", &next)
    }
}

/// The reply to `queueSet` and `queueTake`.
public struct ElementResult: WireMessage, Hashable {
    public var element: QueueElement

    public static var blank: ElementResult { ElementResult(element: .blank) }

    public init(element: QueueElement) { self.element = element }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "element", &element)
    }
}

/// The reply to `pin`.
public struct PinResult: WireMessage, Hashable {
    /// All that are pinned now, the latest last.
    public var pinned: [PinnedMessage]

    public static var blank: PinResult { PinResult(pinned: []) }

    public init(pinned: [PinnedMessage]) { self.pinned = pinned }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "pinned", &pinned)
    }
}

/// The reply to `amend` and `message`.
public struct MessageResult: WireMessage, Hashable {
    public var message: Message

    public static var blank: MessageResult { MessageResult(message: .blank) }

    public init(message: Message) { self.message = message }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "message", &message)
    }
}

/// The reply to `queueSetMany`.
public struct MissingResult: WireMessage, Hashable {
    /// Keys that were not in the queue.
    public var missing: [String]

    public static var blank: MissingResult { MissingResult(missing: []) }

    public init(missing: [String]) { self.missing = missing }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "missing", &missing)
    }
}
