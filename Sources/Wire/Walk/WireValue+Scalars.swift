import ChatModel

extension String: WireValue {
    public static var blank: String { "" }
    @inlinable public static var protobufType: ProtobufWireType { .lengthDelimited }
    @inlinable public var isZero: Bool { isEmpty }

    public func violation(of limit: FieldLimit) -> ChatError? {
        switch limit {
        case .bytes(let max): utf8.count > max ? .tooLong(utf8.count, max: max) : nil
        case .nonEmptyBytes(let max):
            isEmpty
                ? ChatError(.badParameter, "must not be empty")
                : utf8.count > max ? .tooLong(utf8.count, max: max) : nil
        case .none, .integers, .numbers: nil
        }
    }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(string: self) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> String { try value.string() }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(string: self) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> String { try value.string() }
    public static func describe(in schema: inout SchemaWriter) -> String { "string" }
}

extension Bool: WireValue {
    public static var blank: Bool { false }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { !self }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(literal: self ? "true" : "false") }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Bool { try value.bool() }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(varint: self ? 1 : 0) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Bool { try value.varint() != 0 }
    public static func describe(in schema: inout SchemaWriter) -> String { "bool" }
}

extension Int64: WireValue {
    public static var blank: Int64 { 0 }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { self == 0 }

    public func violation(of limit: FieldLimit) -> ChatError? {
        guard case .integers(let low, let high) = limit, self < low || self > high else { return nil }
        return ChatError(.badParameter, "must be from \(low) to \(high)")
    }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: self) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Int64 { try value.int64() }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(varint: UInt64(bitPattern: self)) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Int64 {
        Int64(bitPattern: try value.varint())
    }
    public static func describe(in schema: inout SchemaWriter) -> String { "int64" }
}

extension UInt64: WireValue {
    public static var blank: UInt64 { 0 }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { self == 0 }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: self) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> UInt64 { try value.uint64() }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(varint: self) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> UInt64 { try value.varint() }
    public static func describe(in schema: inout SchemaWriter) -> String { "uint64" }
}

extension UInt32: WireValue {
    public static var blank: UInt32 { 0 }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { self == 0 }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: UInt64(self)) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> UInt32 { try narrowed(value.uint64()) }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(varint: UInt64(self)) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> UInt32 { try narrowed(value.varint()) }
    public static func describe(in schema: inout SchemaWriter) -> String { "uint32" }

    private static func narrowed(_ wide: UInt64) throws(ChatError) -> UInt32 {
        guard let value = UInt32(exactly: wide) else { throw .wrongType("an integer of 32 bits") }
        return value
    }
}

extension Double: WireValue {
    public static var blank: Double { 0 }
    @inlinable public static var protobufType: ProtobufWireType { .fixed64 }
    @inlinable public var isZero: Bool { self == 0 }

    public func violation(of limit: FieldLimit) -> ChatError? {
        guard case .numbers(let low, let high) = limit, !(self >= low && self <= high) else { return nil }
        return ChatError(.badParameter, "must be from \(low) to \(high)")
    }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(number: self) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Double { try value.double() }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(fixed64: bitPattern) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Double {
        let number = Double(bitPattern: try value.fixed64())
        guard number.isFinite else { throw .wrongType("a finite number") }
        return number
    }
    public static func describe(in schema: inout SchemaWriter) -> String { "double" }
}

/// Binary data: base64 (RFC 4648, section 4, with padding) in JSON, `bytes` in protobuf.
extension [UInt8]: WireValue {
    public static var blank: [UInt8] { [] }
    @inlinable public static var protobufType: ProtobufWireType { .lengthDelimited }
    @inlinable public var isZero: Bool { isEmpty }

    public func violation(of limit: FieldLimit) -> ChatError? {
        switch limit {
        case .bytes(let max), .nonEmptyBytes(let max): count > max ? .tooLong(count, max: max) : nil
        case .none, .integers, .numbers: nil
        }
    }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(base64: self) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> [UInt8] {
        guard let bytes = Base64.decode(try value.string()) else { throw .wrongType("base64") }
        return bytes
    }
    public func writeProtobuf(to writer: inout ProtobufWriter) { writer.append(bytes: self) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> [UInt8] { [UInt8](try value.bytes()) }
    public static func describe(in schema: inout SchemaWriter) -> String { "bytes" }
}

extension Timestamp: WireValue {
    public static var blank: Timestamp { Timestamp(0) }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { milliseconds == 0 }

    public func violation(of limit: FieldLimit) -> ChatError? { milliseconds.violation(of: limit) }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: milliseconds) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Timestamp { Timestamp(try value.int64()) }
    public func writeProtobuf(to writer: inout ProtobufWriter) { milliseconds.writeProtobuf(to: &writer) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Timestamp {
        Timestamp(try Int64.readProtobuf(value))
    }
    public static func describe(in schema: inout SchemaWriter) -> String { "int64" }
}

extension Int: WireValue {
    public static var blank: Int { 0 }
    @inlinable public static var protobufType: ProtobufWireType { .varint }
    @inlinable public var isZero: Bool { self == 0 }

    public func violation(of limit: FieldLimit) -> ChatError? { Int64(self).violation(of: limit) }

    public func writeJSON(to writer: inout JSONWriter) { writer.append(integer: Int64(self)) }
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Int { Int(try value.int64()) }
    public func writeProtobuf(to writer: inout ProtobufWriter) { Int64(self).writeProtobuf(to: &writer) }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Int {
        Int(try Int64.readProtobuf(value))
    }
    public static func describe(in schema: inout SchemaWriter) -> String { "int64" }
}
