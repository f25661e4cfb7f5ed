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
