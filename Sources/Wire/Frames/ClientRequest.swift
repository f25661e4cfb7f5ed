import ChatModel

/// A client's request: an operation and the ID that its reply will carry.
public struct ClientRequest: Sendable, Hashable {
    /// Greater than 0; nil only for `barrage` and `tally`, which then get no reply.
    public var id: UInt32?
    public var operation: ClientOperation

    public init(id: UInt32?, operation: ClientOperation) {
        self.id = id
        self.operation = operation
    }
}

extension ClientRequest: WireMessage {
    public static var blank: ClientRequest { ClientRequest(id: nil, operation: .ping) }

    /// Errors about ID and key are 400: what has no ID or no operation is not a request.
    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walkID(&walker)
        try walkOperation(&walker)
    }

    static let noKnownOperation = ChatError.malformed("no known operation")

    mutating func walkID<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        do throws(ChatError) {
            try walker.optional(1, "id", &id)
        } catch { throw .malformed(error.message) }
        if W.isDecoding, id == 0 { throw .malformed("id must be greater than 0") }
    }

    mutating func walkOperation<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let seen = try operation.walk(&walker)
        guard W.isDecoding else { return }
        guard seen > 0 else { throw Self.noKnownOperation }
        guard seen == 1 else { throw .malformed("more than one operation in a request") }
        if id == nil {
            switch operation {
            case .barrage, .tally: break
            default: throw .malformed("a request without id")
            }
        }
    }
}

/// A request that cannot be performed: answered as an `error`, with the ID if there is one.
public struct RequestFailure: Error, Sendable, Hashable {
    /// nil when no ID could be read.
    public var id: UInt32?
    /// 400 for what is not a request (each counts towards closing with 1008), 413 or 414 for a wrong field.
    public var error: ChatError
    /// It names an operation that this version does not know: 400, and not counted as malformed; without an ID it is to
    /// be ignored (PROTOCOL.md, "Malformed requests").
    public var isUnknownOperation = false
    /// It is a `connect`.
    public var isOfConnect = false
    /// It is an operation that may come without an ID, and has come so: it gets no reply, also with a wrong field.
    public var isUnanswered = false

    public init(id: UInt32?, error: ChatError) {
        self.id = id
        self.error = error
    }
}
