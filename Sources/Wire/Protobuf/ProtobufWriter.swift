import ChatModel

/// Writes messages as protobuf, fields in ascending order of their numbers, so that equal values have equal bytes.
public struct ProtobufWriter: FieldWalker, ByteWriter {
    public static var isDecoding: Bool { false }
    public static var describesSchema: Bool { false }
    public var enforcesLimits: Bool { false }

    /// The written bytes.
    private(set) var buffer: WriteBuffer
    /// The last field number of the message that is being written: walks name their fields in ascending order.
    private var lastNumber = 0

    init(_ buffer: WriteBuffer) { self.buffer = buffer }

    // Inlinable code of other modules can call these two, and not those of `ByteWriter`, which nobody else knows.

    /// As ``written(_:)``.
    @usableFromInline
    static func bytes(_ write: (inout ProtobufWriter) throws(ChatError) -> Void) throws(ChatError) -> [UInt8] {
        try written(write)
    }

    /// As ``append(to:_:)``.
    @usableFromInline
    static func appendBytes(
        to bytes: inout [UInt8], _ write: (inout ProtobufWriter) throws(ChatError) -> Void
    ) throws(ChatError) { try append(to: &bytes, write) }

    // MARK: Structure

    @usableFromInline
    struct Outer {
        var start: Int
        var lastNumber: Int
    }

    /// Begins a nested message behind one byte for its length. The result is for `endMessage`.
    @usableFromInline
    mutating func beginMessage() -> Outer {
        buffer.append(0)
        defer { lastNumber = 0 }
        return Outer(start: buffer.count, lastNumber: lastNumber)
    }

    /// Writes the length of what has been written since; a length of more than a byte moves the content.
    @usableFromInline
    mutating func endMessage(_ outer: Outer) {
        var (length, place) = (buffer.count - outer.start, outer.start - 1)
        let more = Varint.count(UInt64(length)) - 1
        if more > 0 { buffer.makeRoom(more, at: outer.start) }
        while length >= 0x80 {
            buffer[place] = UInt8(truncatingIfNeeded: length) | 0x80
            length >>= 7
            place += 1
        }
        buffer[place] = UInt8(truncatingIfNeeded: length)
        lastNumber = outer.lastNumber
    }

    @usableFromInline
    mutating func append(tag number: Int, _ type: ProtobufWireType) {
        assert(number >= lastNumber, "a walk names field \(number) after field \(lastNumber)")
        lastNumber = number
        append(varint: UInt64(number) << 3 | UInt64(type.rawValue))
    }

    // MARK: Scalars

    @usableFromInline
    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func append(fixed64 value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    @usableFromInline
    mutating func append(string: String) {
        var string = string
        string.withUTF8 { utf8 in
            append(varint: UInt64(utf8.count))
            buffer.append(contentsOf: utf8)
        }
    }

    mutating func append(bytes content: [UInt8]) {
        append(varint: UInt64(content.count))
        buffer.append(contentsOf: content)
    }

    // MARK: Fields

    @inlinable
    mutating func write<V: WireValue>(_ number: Int, _ value: inout V) throws(ChatError) {
        append(tag: number, V.protobufType)
        try value.writeProtobuf(to: &self)
    }

    @inlinable
    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) { try write(number, &value) }

    @inlinable
    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) {
        if case .none = value { return }
        append(tag: number, V.protobufType)
        try value?.writeProtobuf(to: &self)
    }

    @inlinable
    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) { if value != fallback { try write(number, &value) } }

    @inlinable
    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) { if !value.isZero { try write(number, &value) } }

    @inlinable
    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        guard V.protobufType == .varint, !values.isEmpty else {
            for var value in values { try write(number, &value) }
            return !values.isEmpty
        }
        append(tag: number, .lengthDelimited)
        let outer = beginMessage()
        for var value in values { try value.writeProtobuf(to: &self) }
        endMessage(outer)
        return true
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        for pair in pairs {
            var entry = MapEntry(pair: pair)
            try write(number, &entry)
        }
    }

    public mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        for var count in counts { try write(number, &count) }
    }

    @inlinable
    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard var value = current() else { return false }
        try write(number, &value)
        return true
    }

    public mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        assert(number >= lastNumber, "a walk names field \(number) after field \(lastNumber)")
        lastNumber = number
        buffer.append(contentsOf: bytes)
    }
}
