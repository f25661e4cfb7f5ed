import ChatModel

/// Writes messages as protobuf, fields in ascending order of their numbers, so that equal values have equal bytes.
public struct ProtobufWriter: FieldWalker {
    public static var isDecoding: Bool { false }
    public static var describesSchema: Bool { false }
    public var enforcesLimits: Bool { false }

    /// The written bytes.
    public internal(set) var bytes: [UInt8]
    /// The last field number of the message that is being written: walks name their fields in ascending order.
    private var lastNumber = 0

    /// Goes on after `bytes`.
    public init(appendingTo bytes: consuming [UInt8] = []) { self.bytes = bytes }

    // MARK: Structure

    struct Outer {
        var start: Int
        var lastNumber: Int
    }

    /// Begins a nested message behind one byte for its length. The result is for `endMessage`.
    mutating func beginMessage() -> Outer {
        bytes.append(0)
        defer { lastNumber = 0 }
        return Outer(start: bytes.count, lastNumber: lastNumber)
    }

    /// Writes the length of what has been written since; a length of more than a byte moves the content.
    mutating func endMessage(_ outer: Outer) {
        let length = bytes.count - outer.start
        if length < 0x80 {
            bytes[outer.start - 1] = UInt8(truncatingIfNeeded: length)
        } else {
            var prefix: [UInt8] = []
            Varint.append(UInt64(length), to: &prefix)
            bytes.replaceSubrange(outer.start - 1..<outer.start, with: prefix)
        }
        lastNumber = outer.lastNumber
    }

    private mutating func append(tag number: Int, _ type: ProtobufWireType) {
        assert(number >= lastNumber, "a walk names field \(number) after field \(lastNumber)")
        lastNumber = number
        append(varint: UInt64(number) << 3 | UInt64(type.rawValue))
    }

    // MARK: Scalars

    mutating func append(varint value: UInt64) { Varint.append(value, to: &bytes) }

    mutating func append(fixed64 value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(string: String) {
        append(varint: UInt64(string.utf8.count))
        bytes.append(contentsOf: string.utf8)
    }

    mutating func append(bytes content: [UInt8]) {
        append(varint: UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    // MARK: Fields

    private mutating func write<V: WireValue>(_ number: Int, _ value: V) throws(ChatError) {
        append(tag: number, V.protobufType)
        try value.writeProtobuf(to: &self)
    }

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) { try write(number, value) }

    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) { if let value { try write(number, value) } }

    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) { if value != fallback { try write(number, value) } }

    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) { if !value.isZero { try write(number, value) } }

    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        guard V.protobufType == .varint, !values.isEmpty else {
            for value in values { try write(number, value) }
            return !values.isEmpty
        }
        append(tag: number, .lengthDelimited)
        let outer = beginMessage()
        for value in values { try value.writeProtobuf(to: &self) }
        endMessage(outer)
        return true
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) { for pair in pairs { try write(number, MapEntry(pair: pair)) } }

    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard let value = current() else { return false }
        try write(number, value)
        return true
    }

    public mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        assert(number >= lastNumber, "a walk names field \(number) after field \(lastNumber)")
        lastNumber = number
        self.bytes.append(contentsOf: bytes)
    }
}
