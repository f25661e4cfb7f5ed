import ChatModel

/// One thing that a server says: the answer to a request, or a push.
public enum ServerItem: Sendable, Hashable {
    /// Without an ID only for an error about a request whose ID could not be read.
    case reply(id: UInt32?, Result<OperationResult, ChatError>)
    case push(Push)
    /// Read by a client: a push of a later version. To be ignored. A message type or an event of a later version is
    /// unknown in its place: `MessageBody.unknown`, `EventCode.unknown`.
    case unknown

    /// Appends the item as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case .push(let push): push.appendJSON(to: &bytes)
        case .reply(let id, .success(let result)): WireJSON.append(ResultOnly(id: id, result: result), to: &bytes)
        case .reply(_, .failure), .unknown: WireJSON.append(self, to: &bytes)
        }
    }

    /// Appends the item as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) {
        switch self {
        case .push(let push): push.appendProtobuf(to: &bytes)
        case .reply(let id, .success(let result)):
            WireProtobuf.appendDelimited(ResultOnly(id: id, result: result), to: &bytes)
        case .reply(_, .failure), .unknown: WireProtobuf.appendDelimited(self, to: &bytes)
        }
    }
}

extension Push {
    /// Appends the push as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) { WireJSON.append(PushOnly(push: self), to: &bytes) }

    /// Appends the push as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) {
        WireProtobuf.appendDelimited(PushOnly(push: self), to: &bytes)
    }
}

extension Message {
    /// Appends the push of the message as ``Push/appendJSON(to:)`` does. By far the most pushes are of this kind, and a `Push`
    /// costs something to make, to copy and to look into.
    public func appendPushJSON(to bytes: inout [UInt8]) { WireJSON.append(MessageOnly(message: self), to: &bytes) }

    /// Appends the push of the message as ``Push/appendProtobuf(to:)`` does.
    public func appendPushProtobuf(to bytes: inout [UInt8]) {
        WireProtobuf.appendDelimited(MessageOnly(message: self), to: &bytes)
    }
}

/// The push of a message as the item that it is.
private struct MessageOnly: WireMessage {
    var message: Message

    static var blank: MessageOnly { MessageOnly(message: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(Push.messageNumber, "message", &message)
    }
}

/// A push as the item that it is, without looking through the fields of replies.
private struct PushOnly: WireMessage {
    var push: Push

    static var blank: PushOnly { PushOnly(push: .message(.blank)) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { _ = try push.walk(&walker) }
}

/// A result as the item that it is, without looking through the fields of others.
private struct ResultOnly: WireMessage {
    var id: UInt32?
    var result: OperationResult

    static var blank: ResultOnly { ResultOnly(id: nil, result: .ping(.blank)) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "id", &id)
        _ = try result.walk(&walker)
    }
}

extension ServerItem: WireMessage {
    public static var blank: ServerItem { .unknown }

    /// `barrage` and `held` are results with an ID and pushes without: the ID decides.
    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var id: UInt32?
        var error: ChatError?
        var result: OperationResult?
        var push: Push?
        switch self {
        case .reply(let number, .success(let value)): (id, result) = (number, value)
        case .reply(let number, .failure(let value)): (id, error) = (number, value)
        case .push(let value): push = value
        case .unknown: break
        }
        try walker.optional(1, "id", &id)
        let current = error
        try walker.choice(2, "error", { current }, { error = $0 })
        if W.isDecoding, let error { return self = .reply(id: id, .failure(error)) }
        if W.describesSchema || (W.isDecoding ? id != nil : result != nil) {
            var value = result ?? .ping(.blank)
            let seen = try value.walk(&walker)
            if W.isDecoding { return self = seen == 1 ? .reply(id: id, .success(value)) : .unknown }
        }
        if W.describesSchema || W.isDecoding || push != nil {
            var value = push ?? .message(.blank)
            let seen = try value.walk(&walker)
            if W.isDecoding { self = seen == 1 ? .push(value) : .unknown }
        }
    }
}

/// The content of one WebSocket message from a server: one or more items.
public enum ServerFrame {
    /// Reads the JSON objects of a text frame, separated by white space.
    /// - Throws: 400 for text that is not JSON; what came before it has been given to `body`.
    public static func items(inJSON bytes: UnsafeRawBufferPointer, _ body: (ServerItem) -> Void) throws(ChatError) {
        var failure: ChatError?
        JSONFrame.forEachObject(bytes, enforcesLimits: false) { object in
            switch object {
            case .success(var reader): body(item(&reader))
            case .failure(let error): failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Reads the length-delimited messages of a binary frame.
    /// - Throws: 400 for a broken message; what came before it has been given to `body`.
    public static func items(inProtobuf bytes: UnsafeRawBufferPointer, _ body: (ServerItem) -> Void) throws(ChatError) {
        var failure: ChatError?
        ProtobufFrame.forEachMessage(bytes, enforcesLimits: false) { message in
            switch message {
            case .success(var reader): body(item(&reader))
            case .failure(let error): failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// A client never fails on what it does not know: a push that cannot be understood is `unknown`; a reply fails its
    /// own request only.
    private static func item<W: FieldWalker>(_ reader: inout W) -> ServerItem {
        var item = ServerItem.unknown
        let start = reader
        do throws(ChatError) {
            try item.walk(&reader)
            return item
        } catch {
            var id: UInt32?
            var again = start
            do throws(ChatError) { try again.optional(1, "id", &id) } catch { return .unknown }
            guard let id else { return .unknown }
            return .reply(id: id, .failure(ChatError(.unknown, "a reply that cannot be read: \(error.message)")))
        }
    }
}
