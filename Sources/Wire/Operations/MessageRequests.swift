import ChatModel

/// `send`: a message to a room.
public struct SendRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String
    public var draft: MessageDraft

    var commandID: String? { clientID }
    public static var blank: SendRequest { SendRequest(room: .blank, clientID: "", draft: .blank) }

    var contentBytes: Int { draft.contentBytes }

    public init(room: RoomID, clientID: String, draft: MessageDraft) {
        self.room = room
        self.clientID = clientID
        self.draft = draft
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        try draft.walk(&walker)
    }
}

/// `barrage`: a transient comment. Without a request ID there is no reply.
public struct BarrageRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var text: String
    public var priority = Priority.normal
    public var ext: String?
    public var style: String?

    public static var blank: BarrageRequest { BarrageRequest(room: .blank, text: "") }

    public init(room: RoomID, text: String, priority: Priority = .normal, ext: String? = nil, style: String? = nil) {
        self.room = room
        self.text = text
        self.priority = priority
        self.ext = ext
        self.style = style
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "text", &text, .bytes(Limits.barrageTextBytes))
        try walker.defaulted(3, "priority", &priority, default: .normal)
        try walker.optional(4, "ext", &ext, .bytes(Limits.barrageExtBytes))
        try walker.optional(5, "style", &style, .bytes(Limits.barrageStyleBytes))
    }
}

/// `recall`: takes a message back.
public struct RecallRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var messageID: String
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: RecallRequest { RecallRequest(room: .blank, messageID: "") }

    public init(room: RoomID, messageID: String, clientID: String? = nil) {
        self.room = room
        self.messageID = messageID
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `pin`: pins a message, or takes its pin away.
public struct PinRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var messageID: String
    public var enable: Bool
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: PinRequest { PinRequest(room: .blank, messageID: "", enable: false) }

    public init(room: RoomID, messageID: String, enable: Bool, clientID: String? = nil) {
        self.room = room
        self.messageID = messageID
        self.enable = enable
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.required(3, "enable", &enable)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `amend`: changes a kept message.
public struct AmendRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var messageID: String
    public var set: MessageChanges
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: AmendRequest { AmendRequest(room: .blank, messageID: "", set: .blank) }

    var contentBytes: Int { self.set.bytes }

    public init(room: RoomID, messageID: String, set: MessageChanges, clientID: String? = nil) {
        self.room = room
        self.messageID = messageID
        self.set = set
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.required(3, "set", &set)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `report`: tells the room's moderators of a message.
public struct ReportRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var messageID: String
    public var reason: String?
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: ReportRequest { ReportRequest(room: .blank, messageID: "") }

    var contentBytes: Int { bytes(reason) }

    public init(room: RoomID, messageID: String, reason: String? = nil, clientID: String? = nil) {
        self.room = room
        self.messageID = messageID
        self.reason = reason
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.optional(3, "reason", &reason, .bytes(Limits.reportReasonBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// `message`: one kept message.
public struct MessageRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var messageID: String

    public static var blank: MessageRequest { MessageRequest(room: .blank, messageID: "") }

    public init(room: RoomID, messageID: String) {
        self.room = room
        self.messageID = messageID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
    }
}

/// `combined`: the messages that a COMBINE holds.
public struct CombinedRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var messageID: String

    public static var blank: CombinedRequest { CombinedRequest(room: .blank, messageID: "") }

    public init(room: RoomID, messageID: String) {
        self.room = room
        self.messageID = messageID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "messageId", &messageID, .nonEmptyBytes(Limits.opaqueIDBytes))
    }
}

/// `history`: a page of what a room keeps.
public struct RoomHistoryRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    public var query = HistoryRequest()

    public static var blank: RoomHistoryRequest { RoomHistoryRequest(room: .blank) }

    public init(room: RoomID, query: HistoryRequest = HistoryRequest()) {
        self.room = room
        self.query = query
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try query.walk(&walker)
    }
}
