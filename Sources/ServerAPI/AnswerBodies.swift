import ChatModel
import Wire

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

/// When a user's tokens were revoked.
struct RevokedAnswer: WireMessage {
    var revokedAt = Timestamp(0)

    static var blank: RevokedAnswer { RevokedAnswer() }
    static var schemaName: String { "Revoked" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "revokedAt", &revokedAt)
    }
}

/// How many sessions a call has met.
struct SessionCountAnswer: WireMessage {
    var sessions: Int64 = 0
    /// Nodes that did not answer: their sessions end when they are back.
    var missing: [NodeID] = []

    static var blank: SessionCountAnswer { SessionCountAnswer() }
    static var schemaName: String { "SessionCount" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "sessions", &sessions)
        try walker.repeated(2, "missing", &missing)
    }
}

/// The outcome of a message outside of rooms.
struct ShownAnswer: WireMessage {
    var messageID = ""
    var time = Timestamp(0)
    var sessions: Int64 = 0
    /// Nodes that did not answer: their sessions were not shown it.
    var missing: [NodeID] = []

    static var blank: ShownAnswer { ShownAnswer() }
    static var schemaName: String { "Shown" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "messageId", &messageID)
        try walker.required(2, "time", &time)
        try walker.shown(3, "sessions", &sessions)
        try walker.repeated(4, "missing", &missing)
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
