import ChatModel

/// In a storm thousands come back who have missed the same messages: these are encoded once, and put into each one's reply
/// as they are.
extension EnterResult {
    /// The encoded form that ``appendReply(id:missed:in:to:)`` takes.
    public static func encodeMissed(_ messages: [Message], in encoding: ClientEncoding) -> [UInt8] {
        do throws(ChatError) {
            switch encoding {
            case .json:
                return try JSONWriter.written { writer throws(ChatError) in
                    try writer.appendArray(count: messages.count) { writer, index throws(ChatError) in
                        var message = messages[index]
                        try message.writeJSON(to: &writer)
                    }
                }
            case .protobuf:
                var messages = messages
                return try ProtobufWriter.written { writer throws(ChatError) in
                    try writer.repeated(missedNumber, "missed", &messages)
                }
            }
        } catch {
            assertionFailure("writing does not fail: \(error)")
            return []
        }
    }

    /// How many of the first of these messages fit together into `bytesMax` bytes of JSON, the longer encoding; none if
    /// already the first is too long.
    public static func fittingMissed(_ messages: [Message], within bytesMax: Int) -> Int {
        var bytes = 2
        for (index, message) in messages.enumerated() {
            bytes += encodeMissed([message], in: .json).count
            if bytes > bytesMax { return index }
        }
        return messages.count
    }

    /// Appends the item that answers request `id` with this result, whose `missed` is there in that encoding already.
    public func appendReply(id: UInt32, missed: [UInt8], in encoding: ClientEncoding, to bytes: inout [UInt8]) {
        let item = EncodedItem(id: id, content: EncodedContent(result: self, missed: missed))
        switch encoding {
        case .json: WireJSON.append(item, to: &bytes)
        case .protobuf: WireProtobuf.appendDelimited(item, to: &bytes)
        }
    }
}

/// A `ServerItem` that is only ever written.
private struct EncodedItem: WireMessage {
    var id: UInt32
    var content: EncodedContent

    static var blank: EncodedItem { EncodedItem(id: 0, content: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var id: UInt32? = id
        try walker.optional(1, "id", &id)
        _ = try walker.choice(.enter, { content }, { content = $0 })
    }
}

/// An `EnterResult` that is only ever written.
private struct EncodedContent: WireMessage {
    var result: EnterResult
    var missed: [UInt8]

    static var blank: EncodedContent { EncodedContent(result: .blank, missed: []) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try result.walkHead(&walker)
        walker.encoded(EnterResult.missedNumber, "missed", missed)
        try result.walkEnd(&walker)
    }
}
