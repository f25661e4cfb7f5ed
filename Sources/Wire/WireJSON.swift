import ChatModel

/// JSON texts of single messages, as bodies of the server API have them.
public enum WireJSON {
    /// Reads one object and nothing after it.
    /// - Parameter limits: whether values over their limits are refused; true for all input from outside.
    /// - Throws: 400 for what is not one JSON object, 413 and 414 with the field for a wrong value.
    public static func decode<M: WireMessage>(_ type: M.Type, from bytes: UnsafeRawBufferPointer, limits: Bool)
        throws(ChatError) -> M
    {
        var document = JSONDocument()
        let end = try document.parse(bytes, from: 0)
        guard JSONDocument.skipSpace(bytes, from: end) == bytes.count else {
            throw .malformed("not JSON: something follows the object at byte \(end)")
        }
        return try document.read(enforcesLimits: limits) { value throws(ChatError) in
            guard (try? value.object()) != nil else { throw .malformed("the body must be an object") }
            return try M.readJSON(value)
        }
    }

    /// Reads one object and nothing after it.
    public static func decode<M: WireMessage>(_ type: M.Type, from bytes: [UInt8], limits: Bool) throws(ChatError) -> M
    {
        try bytes.withUnsafeBufferPointer { buffer throws(ChatError) in
            try decode(type, from: UnsafeRawBufferPointer(buffer), limits: limits)
        }
    }

    /// The JSON text of `message`.
    public static func encode<M: WireMessage>(_ message: consuming M) -> [UInt8] {
        var message = message
        do throws(ChatError) {
            return try JSONWriter.written { writer throws(ChatError) in try message.writeJSON(to: &writer) }
        } catch {
            assertionFailure("writing does not fail: \(error)")
            return []
        }
    }

    /// Appends the JSON text of `message`.
    public static func append<M: WireMessage>(_ message: consuming M, to bytes: inout [UInt8]) {
        var message = message
        do throws(ChatError) {
            try JSONWriter.append(to: &bytes) { writer throws(ChatError) in try message.writeJSON(to: &writer) }
        } catch { assertionFailure("writing does not fail: \(error)") }
    }
}

/// Protobuf forms of single messages. Inlinable, like all that they walk with: for the messages of other modules the generic
/// form would run, which costs several times as much.
public enum WireProtobuf {
    /// Reads one message that fills `bytes`.
    /// - Throws: 400 for what is not protobuf, 413 and 414 with the field for a wrong value.
    @inlinable
    public static func decode<M: WireMessage>(_ type: M.Type, from bytes: UnsafeRawBufferPointer, limits: Bool)
        throws(ChatError) -> M
    {
        var reader = try ProtobufReader(bytes, rules: limits ? .limits : [])
        var message = M.blank
        try message.walk(&reader)
        return message
    }

    /// Reads one message that fills `bytes` into a blank one.
    @inlinable
    static func fill<M: WireMessage>(_ message: inout M, from bytes: [UInt8], _ rules: ProtobufRules) throws(ChatError)
    {
        try bytes.withUnsafeBufferPointer { buffer throws(ChatError) in
            var reader = try ProtobufReader(UnsafeRawBufferPointer(buffer), rules: rules)
            try message.walk(&reader)
            try reader.end()
        }
    }

    /// Reads one message that fills `bytes`.
    @inlinable
    public static func decode<M: WireMessage>(_ type: M.Type, from bytes: [UInt8], limits: Bool) throws(ChatError) -> M
    {
        try bytes.withUnsafeBufferPointer { buffer throws(ChatError) in
            try decode(type, from: UnsafeRawBufferPointer(buffer), limits: limits)
        }
    }

    /// The bytes of `message`, without a length.
    @inlinable
    public static func encode<M: WireMessage>(_ message: consuming M) -> [UInt8] {
        var copy = consume message
        do throws(ChatError) {
            return try ProtobufWriter.bytes { writer throws(ChatError) in try copy.walk(&writer) }
        } catch {
            assertionFailure("writing does not fail: \(error)")
            return []
        }
    }

    /// Appends the length of `message` and its bytes.
    @inlinable
    public static func appendDelimited<M: WireMessage>(_ message: consuming M, to bytes: inout [UInt8]) {
        var message = message
        do throws(ChatError) {
            try ProtobufWriter.appendBytes(to: &bytes) { writer throws(ChatError) in
                try message.writeProtobuf(to: &writer)
            }
        } catch { assertionFailure("writing does not fail: \(error)") }
    }
}
