import ChatModel

/// An enumeration: its raw value in JSON, a number in protobuf. 0 is unspecified and never written.
public protocol WireEnum: WireValue, RawRepresentable, CaseIterable, Equatable where RawValue == String {
    /// The number in protobuf and on disk; it never changes.
    var number: Int { get }
    /// The name in the published schema.
    static var schemaName: String { get }
}

extension WireEnum {
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    public static var schemaName: String { String(describing: Self.self) }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(string: rawValue) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Self {
        guard let known = Self(exactly: try value.string()), known.number > 0 else { throw unknown }
        return known
    }
    @inlinable
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(varint: UInt64(clamping: number)) }
    @inlinable
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Self {
        let number = try value.varint()
        for known in allCases where UInt64(clamping: known.number) == number { return known }
        throw unknown
    }
    public static func describe(in schema: inout SchemaWriter) -> String {
        schema.enumeration(schemaName, allCases.map { ($0.rawValue, $0.number) })
        return schemaName
    }

    @usableFromInline static var unknown: ChatError {
        ChatError(.badParameter, "must be one of \(allCases.map(\.rawValue).joined(separator: ", "))")
    }
}

/// An enumeration of which a reader also takes names that it does not know: those of later versions.
public protocol WireOpenEnum: WireValue {
    /// The names that this version knows.
    static var knownNames: [String] { get }
}

/// An enumeration that is a number in both encodings, as the protocol's codes.
public protocol WireCode: WireValue, RawRepresentable, Equatable where RawValue == Int {}

extension WireCode {
    @inlinable public static var protobufType: ProtobufWireType { .varint }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: Int64(rawValue)) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Self { try checked(value.int64()) }
    @inlinable
    public func writeProtobuf(to writer: inout ProtobufWriter) { Int64(rawValue).writeProtobuf(to: &writer) }
    @inlinable
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Self {
        try checked(Int64.readProtobuf(value))
    }
    public static func describe(in schema: inout SchemaWriter) -> String { "int32" }

    @inlinable
    static func checked(_ number: Int64) throws(ChatError) -> Self {
        guard let known = Self(rawValue: Int(truncatingIfNeeded: number)) else { throw .wrongType("a known code") }
        return known
    }
}
