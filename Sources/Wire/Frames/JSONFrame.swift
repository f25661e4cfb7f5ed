import ChatModel

/// The objects of a JSON frame.
enum JSONFrame {
    /// Calls `body` with each object, or once with what is wrong with the text, which ends the reading. A frame without
    /// any object is wrong too.
    static func forEachObject(
        _ bytes: UnsafeRawBufferPointer, enforcesLimits: Bool, _ body: (Result<JSONReader, ChatError>) -> Void
    ) {
        var document = JSONDocument()
        var position = JSONDocument.skipSpace(bytes, from: 0)
        if position == bytes.count { return body(.failure(.malformed("the frame is empty"))) }
        while position < bytes.count {
            do throws(ChatError) {
                let end = try document.parse(bytes, from: position)
                try document.read(enforcesLimits: enforcesLimits) { value throws(ChatError) in
                    guard let reader = try? value.object() else { throw .malformed("a frame holds objects") }
                    body(.success(reader))
                }
                position = JSONDocument.skipSpace(bytes, from: end)
            } catch { return body(.failure(error)) }
        }
    }
}

extension JSONDocument {
    /// Gives `body` the value that was parsed last. It may not keep it.
    func read<R>(enforcesLimits: Bool, _ body: (JSONValue) throws(ChatError) -> R) throws(ChatError) -> R {
        try nodes.withUnsafeBufferPointer { nodes throws(ChatError) in
            try resolvedKeys.withUnsafeBufferPointer { keys throws(ChatError) in
                let context = JSONContext(
                    nodes: nodes, text: text, resolvedKeys: UnsafeRawBufferPointer(keys),
                    enforcesLimits: enforcesLimits)
                return try body(JSONValue(context: context, index: 0))
            }
        }
    }
}

/// The messages of a protobuf frame.
enum ProtobufFrame {
    /// Calls `body` with each length-delimited message, or with what is wrong with it. A broken length ends the reading;
    /// an empty frame is wrong too.
    static func forEachMessage(
        _ bytes: UnsafeRawBufferPointer, enforcesLimits: Bool, _ body: (Result<ProtobufReader, ChatError>) -> Void
    ) {
        if bytes.isEmpty { return body(.failure(.malformed("the frame is empty"))) }
        var position = 0
        while position < bytes.count {
            guard let length = Varint.read(bytes, at: &position), length <= UInt64(bytes.count - position) else {
                return body(.failure(.malformed("not protobuf: a message is cut short")))
            }
            let end = position + Int(truncatingIfNeeded: length)
            let content = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
            position = end
            do throws(ChatError) {
                body(.success(try ProtobufReader(content, rules: enforcesLimits ? .limits : [])))
            } catch { body(.failure(error)) }
        }
    }
}
