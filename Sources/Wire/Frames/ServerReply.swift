import ChatModel

/// The answer to a request.
public enum ServerReply: Sendable, Hashable {
    case result(id: UInt32, OperationResult)
    /// Without an ID when the request had none that could be read.
    case error(id: UInt32?, ChatError)

    /// Appends the reply as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) { WireJSON.append(ServerItem(self), to: &bytes) }

    /// Appends the reply as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) { WireProtobuf.appendDelimited(ServerItem(self), to: &bytes) }
}

extension Push {
    /// Appends the push as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) { WireJSON.append(PushOnly(push: self), to: &bytes) }

    /// Appends the push as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) {
        WireProtobuf.appendDelimited(PushOnly(push: self), to: &bytes)
    }
}

/// A push as the item that it is, without looking through the fields of replies.
private struct PushOnly: WireMessage {
    var push: Push

    static var blank: PushOnly { PushOnly(push: .message(.blank)) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { _ = try push.walk(&walker) }
}
