import ChatModel
import Wire

/// A page of rooms.
struct RoomsAnswer: WireMessage {
    var rooms: [RoomView] = []
    var next: String?

    static var blank: RoomsAnswer { RoomsAnswer() }
    static var schemaName: String { "Rooms" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "rooms", &rooms)
        try walker.optional(2, "next", &next)
    }
}

/// A page of members.
struct MembersAnswer: WireMessage {
    var members: [Member] = []
    var next: String?

    static var blank: MembersAnswer { MembersAnswer() }
    static var schemaName: String { "Members" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "members", &members)
        try walker.optional(2, "next", &next)
    }
}

/// A page of history.
struct MessagesAnswer: WireMessage {
    var messages: [Message] = []
    var more = false

    static var blank: MessagesAnswer { MessagesAnswer() }
    static var schemaName: String { "Messages" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "messages", &messages)
        try walker.shown(2, "more", &more)
    }
}

/// What became of a message that was sent.
struct SentAnswer: WireMessage {
    var messageID = ""
    var time = Timestamp(0)
    var place = MessagePlace.outside
    /// If it was lowered.
    var priority: Priority?

    static var blank: SentAnswer { SentAnswer() }
    static var schemaName: String { "Sent" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (seq, after): (UInt64?, UInt64?)
        switch place {
        case .kept(let number): seq = number
        case .unkept(let number): after = number
        case .outside: break
        }
        try walker.required(1, "messageId", &messageID)
        try walker.required(2, "time", &time)
        try walker.optional(3, "seq", &seq)
        try walker.optional(4, "after", &after)
        try walker.optional(5, "priority", &priority)
        guard W.isDecoding else { return }
        place = seq.map { .kept(seq: $0) } ?? after.map { .unkept(after: $0) } ?? .outside
    }
}

/// A token and its end.
struct TokenAnswer: WireMessage {
    var token = IssuedToken(token: "", expiresAt: Timestamp(0))

    static var blank: TokenAnswer { TokenAnswer() }
    static var schemaName: String { "Token" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "token", &token.token)
        try walker.required(2, "expiresAt", &token.expiresAt)
    }
}

/// Where clients connect.
struct AddressAnswer: WireMessage {
    var addresses = GatewayAddresses(gateways: [], ttlSeconds: 0)

    static var blank: AddressAnswer { AddressAnswer() }
    static var schemaName: String { "Address" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "gateways", &addresses.gateways)
        try walker.required(2, "ttlSeconds", &addresses.ttlSeconds)
    }
}

/// One word about the node.
struct StatusAnswer: WireMessage {
    var status = ""

    static var blank: StatusAnswer { StatusAnswer() }
    static var schemaName: String { "Status" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "status", &status)
    }
}

/// `{}`: done, and nothing to tell.
struct DoneAnswer: WireMessage {
    static var blank: DoneAnswer { DoneAnswer() }
    static var schemaName: String { "Done" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {}
}

/// The OpenAPI document itself, as far as it describes itself.
struct DocumentAnswer: WireMessage {
    var openapi = ""

    static var blank: DocumentAnswer { DocumentAnswer() }
    static var schemaName: String { "OpenAPIDocument" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "openapi", &openapi)
    }
}

/// A refusal.
struct ErrorAnswer: WireMessage {
    var error = ChatError.blank

    static var blank: ErrorAnswer { ErrorAnswer() }
    static var schemaName: String { "ErrorAnswer" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "error", &error)
    }
}
