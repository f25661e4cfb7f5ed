import ChatModel

/// A name with a rule of its own: text on the wire.
public protocol WireName: WireValue {
    /// Returns nil for text that breaks the rule.
    init?(_ text: String)
    var text: String { get }
    /// The rule in words, after "must be".
    static var rule: StaticString { get }
}

extension WireName {
    @inlinable public static var protobufType: ProtobufWireType { .lengthDelimited }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(string: text) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Self { try checked(value.string()) }
    @inlinable public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(string: text) }
    @inlinable
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Self { try checked(value.string()) }
    public static func describe(in schema: inout SchemaWriter) -> String { "string" }

    /// - Throws: 413 over 64 bytes, 414 for another breach of the rule.
    @inlinable
    static func checked(_ text: String) throws(ChatError) -> Self {
        if let name = Self(text) { return name }
        guard text.utf8.count <= Limits.opaqueIDBytes else {
            throw .tooLong(text.utf8.count, max: Limits.opaqueIDBytes)
        }
        throw .wrongType(rule)
    }

    /// A valid name to start from. Only called with constants.
    fileprivate static func constant(_ text: String) -> Self {
        guard let name = Self(text) else { preconditionFailure("not a name: \(text)") }
        return name
    }
}

extension RoomID: WireName {
    public static let blank = constant("-")
    public static var rule: StaticString { "a room ID" }
}

extension UserID: WireName {
    public static let blank = constant("-")
    public static var rule: StaticString { "a user ID" }
}

extension NodeID: WireName {
    public static let blank = constant("-")
    public static var rule: StaticString { "a node ID" }
}

extension SessionID: WireName {
    public static let blank = constant("-")
    public static var rule: StaticString { "a session ID" }
}
