import ChatModel

/// The kinds of items in a webhook's batches (PROTOCOL.md, "Webhooks"). The raw value is the name in `events` of the
/// settings and in `event` of an item.
public enum WebhookEvent: String, Sendable, Hashable, CaseIterable {
    /// A kept message of a person or the server API.
    case message
    /// A kept notification.
    case notification
    /// A room was created or reopened, or is back after it was deleted.
    case open
    /// A room was closed or deleted.
    case close
    /// Best effort.
    case enter
    /// Best effort.
    case exit
    /// A message that is not kept; best effort.
    case unkept
    /// Kept messages that can't be delivered any more: they have expired or went with their room.
    case lost
    /// A user was banned or muted in all rooms, or no more. Its items have no room.
    case sanction
    /// A member has reported a message.
    case report
    /// A message waits for managers.
    case held
}

extension WebhookEvent: WireEnum {
    public static var blank: WebhookEvent { .message }
    public var number: Int {
        switch self {
        case .message: 1
        case .notification: 2
        case .open: 3
        case .close: 4
        case .enter: 5
        case .exit: 6
        case .unkept: 7
        case .lost: 8
        case .sanction: 9
        case .report: 11
        case .held: 10
        }
    }
}

/// The app's webhook: body of PUT /v1/webhook, and as it is stored.
public struct WebhookSettings: WireMessage, Hashable {
    /// Empty: there is no webhook, and what it was owed is forgotten.
    public var url = ""
    /// Absent in PUT: the one that is set stays. Never shown.
    public var secret: String?
    /// Empty: all.
    public var events: [WebhookEvent] = []
    /// Items of one batch.
    public var maxBatch: Int64 = 100
    /// For one call, from the look-up of the name to the end of the answer.
    public var timeoutMs: Int64 = 10_000

    public static var blank: WebhookSettings { WebhookSettings() }
    public static let secretBytesMax = 256
    public static let batchMax: Int64 = 1_000

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "url", &url, .bytes(Limits.urlBytes))
        try walker.optional(2, "secret", &secret, .nonEmptyBytes(Self.secretBytesMax))
        try walker.list(3, "events", &events, itemsMax: WebhookEvent.allCases.count)
        try walker.defaulted(4, "maxBatch", &maxBatch, default: 100, .integers(1, Self.batchMax))
        try walker.defaulted(5, "timeoutMs", &timeoutMs, default: 10_000, .integers(100, 60_000))
    }

    /// Whether items of this event go out.
    public func wants(_ event: WebhookEvent) -> Bool { events.isEmpty || event == .lost || events.contains(event) }
}

/// Kept messages that the receiver will not get any more.
public struct LostMessages: WireMessage, Hashable {
    public var room: RoomID
    /// The first and the last seq.
    public var from: UInt64
    public var to: UInt64

    public static var blank: LostMessages { LostMessages(room: .blank, from: 0, to: 0) }

    public init(room: RoomID, from: UInt64, to: UInt64) {
        self.room = room
        self.from = from
        self.to = to
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.shown(2, "from", &from)
        try walker.shown(3, "to", &to)
    }
}

/// One item of a batch: what has happened in a room.
public struct WebhookItem: WireMessage, Hashable {
    /// The same for every delivery of the same item: a receiver that has seen it ignores it.
    public var id: String
    /// Absent for sanction.
    public var room: RoomID?
    /// Only for kept messages and notifications: items of one room come in this order.
    public var seq: UInt64?
    public var event: WebhookEvent
    public var time: Timestamp
    /// Only for message, notification, unkept and held: there it is left out when it was decided meanwhile.
    public var message: Message?
    /// Only for enter and exit.
    public var user: UserName?
    /// Only for enter and exit: how many are in the room then.
    public var online: Int64?
    /// Only for open and close: what happened, CREATED, REOPENED, CLOSED or DELETED.
    public var kind: RoomLifeEvent.Kind?
    /// Only for lost.
    public var lost: LostMessages?
    /// Only for sanction.
    public var sanction: WebhookSanction?
    /// Only for report.
    public var report: MessageReport?
    /// Only for held.
    public var heldID: String?

    public static var blank: WebhookItem { WebhookItem(id: "", room: nil, event: .message, time: .blank) }

    public init(id: String, room: RoomID?, event: WebhookEvent, time: Timestamp) {
        self.id = id
        self.room = room
        self.event = event
        self.time = time
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "id", &id)
        try walker.optional(2, "room", &room)
        try walker.optional(3, "seq", &seq)
        try walker.required(4, "event", &event)
        try walker.required(5, "time", &time)
        try walker.optional(6, "message", &message)
        try walker.optional(7, "user", &user)
        try walker.optional(8, "online", &online)
        try walker.optional(9, "kind", &kind)
        try walker.optional(10, "lost", &lost)
        try walker.optional(11, "sanction", &sanction)
        try walker.optional(12, "heldId", &heldID)
        try walker.optional(13, "report", &report)
    }
}

/// A ban or a mute of a user in all rooms, or its end.
public struct WebhookSanction: WireMessage, Hashable {
    public var kind: SanctionKind
    public var isLifted = false
    /// Absent: for good.
    public var endsAt: Timestamp?
    public var reason: String?

    public static var blank: WebhookSanction { WebhookSanction(kind: .blank) }

    public init(kind: SanctionKind) { self.kind = kind }

    public init(_ event: SanctionEvent) {
        kind = event.kind
        isLifted = event.sanction == nil
        (endsAt, reason) = (event.sanction?.endsAt, event.sanction?.reason)
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "kind", &kind)
        try walker.defaulted(2, "lifted", &isLifted, default: false)
        try walker.optional(3, "endsAt", &endsAt)
        try walker.optional(4, "reason", &reason)
    }
}

/// The body of one call of the webhook.
public struct WebhookBatch: WireMessage, Hashable {
    /// Names the batch, for logs; a batch that is sent again has the same.
    public var cursor: String
    public var items: [WebhookItem]
    /// Best-effort items of this shard that were left out since the last batch that was accepted.
    public var dropped: Int64 = 0

    public static var blank: WebhookBatch { WebhookBatch(cursor: "", items: []) }

    public init(cursor: String, items: [WebhookItem]) {
        self.cursor = cursor
        self.items = items
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "cursor", &cursor)
        try walker.list(2, "items", &items)
        try walker.defaulted(3, "dropped", &dropped, default: 0)
    }
}
