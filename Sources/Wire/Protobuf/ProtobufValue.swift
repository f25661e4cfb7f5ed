import ChatModel

/// How a message and all that it holds are read.
public struct ProtobufRules: OptionSet, Sendable {
    public let rawValue: UInt8

    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Values beyond their limits are refused.
    public static let limits = ProtobufRules(rawValue: 1)
    /// Fields that are not read are refused, in place of skipped.
    public static let allFields = ProtobufRules(rawValue: 2)
}

/// One field of a message; it may not outlive the reading.
public struct ProtobufValue {
    @usableFromInline let wireType: ProtobufWireType
    @usableFromInline let rules: ProtobufRules
    /// The number of a varint or of a fixed field; how many bytes a length-delimited one has.
    @usableFromInline let number: UInt64
    /// The first byte of a length-delimited field. A buffer beside the number would be two words more, and each field hands
    /// its value over.
    @usableFromInline let start: UnsafeRawPointer?

    @inline(__always)
    init(_ wireType: ProtobufWireType, number: UInt64, start: UnsafeRawPointer? = nil, rules: ProtobufRules) {
        self.wireType = wireType
        self.rules = rules
        self.number = number
        self.start = start
    }

    /// The content of a length-delimited field.
    @usableFromInline var content: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: Int(truncatingIfNeeded: number))
    }

    @usableFromInline
    func varint() throws(ChatError) -> UInt64 {
        guard wireType == .varint else { throw .wrongType("a varint") }
        return number
    }

    @usableFromInline
    func fixed64() throws(ChatError) -> UInt64 {
        guard wireType == .fixed64 else { throw .wrongType("64 bits") }
        return number
    }

    @usableFromInline
    func bytes() throws(ChatError) -> UnsafeRawBufferPointer {
        guard wireType == .lengthDelimited else { throw .wrongType("length-delimited") }
        return content
    }

    @usableFromInline
    func string() throws(ChatError) -> String {
        let bytes = try bytes()
        guard UTF8Check.isValid(bytes) else { throw .malformed("a string is not UTF-8") }
        return String(decoding: bytes, as: UTF8.self)
    }

    @usableFromInline
    func message() throws(ChatError) -> ProtobufReader {
        try ProtobufReader(bytes(), rules: rules)
    }
}
