import ChatModel

/// A value that can be a field: scalars, IDs, enumerations and messages.
public protocol WireValue: Sendable {
    /// The value that decoding starts from; it never leaves a decoder that succeeded unless the input says the same.
    static var blank: Self { get }
    /// The form that the value has in protobuf.
    static var protobufType: ProtobufWireType { get }
    /// Whether protobuf leaves a `shown` field of this value out.
    var isZero: Bool { get }

    /// The violation of `limit`, without the field's name, or nil.
    func violation(of limit: FieldLimit) -> ChatError?

    /// Appends the value as JSON text. Mutating like a walk, so that a structure within another is not copied for it; the
    /// value stays the same.
    mutating func writeJSON(to writer: inout JSONWriter) throws(ChatError)
    /// Reads the value from a parsed text. Throws 414, without the field's name, for another JSON type.
    static func readJSON(_ value: JSONValue) throws(ChatError) -> Self

    /// Appends the value without its tag; length-delimited values begin with their length. The value stays the same.
    mutating func writeProtobuf(to writer: inout ProtobufWriter) throws(ChatError)
    /// Reads the value from one field of a protobuf message.
    static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Self

    /// Tells the schema of this type, and returns the name that a field of it has there.
    static func describe(in schema: inout SchemaWriter) -> String
}

extension WireValue {
    @inlinable public var isZero: Bool { false }
    @inlinable public func violation(of limit: FieldLimit) -> ChatError? { nil }
}

/// A structure with fields: an object in JSON, a message in protobuf.
public protocol WireMessage: WireValue {
    /// The name in the published schema.
    static var schemaName: String { get }

    /// Visits every field, in ascending order of numbers. The one place that knows the fields of this structure.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError)
}

extension WireMessage {
    @inlinable public static var protobufType: ProtobufWireType { .lengthDelimited }
    public static var schemaName: String { String(describing: Self.self) }

    public mutating func writeJSON(to writer: inout JSONWriter) throws(ChatError) {
        let outer = writer.beginObject()
        try walk(&writer)
        writer.endObject(outer)
    }

    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Self {
        var reader = try value.object()
        var message = Self.blank
        try message.walk(&reader)
        return message
    }

    @inlinable
    public mutating func writeProtobuf(to writer: inout ProtobufWriter) throws(ChatError) {
        let outer = writer.beginMessage()
        try walk(&writer)
        writer.endMessage(outer)
    }

    @inlinable
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Self {
        var reader = try value.message()
        var message = Self.blank
        try message.walk(&reader)
        try reader.end()
        return message
    }

    public static func describe(in schema: inout SchemaWriter) -> String {
        schema.message(Self.self)
        return schemaName
    }
}
