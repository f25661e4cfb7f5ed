/// A protobuf message field by field, right or wrong, without a schema.
struct RawProtobuf {
    enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        case bytes([UInt8])
    }

    var fields: [(number: Int, value: Value)] = []

    init() {}

    /// Takes a message apart that this side has made itself.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let tag = try Self.varint(&rest)
            let number = Int(tag >> 3)
            switch tag & 7 {
            case 0: fields.append((number, .varint(try Self.varint(&rest))))
            case 1:
                guard rest.count >= 8 else { throw TestFailure("cut short") }
                fields.append((number, .fixed64(rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })))
                rest = rest.dropFirst(8)
            case 2:
                let count = Int(try Self.varint(&rest))
                guard rest.count >= count else { throw TestFailure("cut short") }
                fields.append((number, .bytes(Array(rest.prefix(count)))))
                rest = rest.dropFirst(count)
            default: throw TestFailure("wire type \(tag & 7)")
            }
        }
    }

    /// The messages of a frame, each behind its length.
    struct Messages {
        private var rest: ArraySlice<UInt8>

        init(_ frame: [UInt8]) { rest = frame[...] }

        /// nil at the end of the frame.
        mutating func next() throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            let count = Int(try RawProtobuf.varint(&rest))
            guard rest.count >= count else { throw TestFailure("cut short") }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) throws -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            guard let byte = bytes.popFirst() else { throw TestFailure("cut short") }
            value |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return value }
        }
        throw TestFailure("a long varint")
    }

    static func varint(_ value: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(truncatingIfNeeded: rest)]
    }

    /// In ascending order, as common encoders write.
    var bytes: [UInt8] {
        fields.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }.flatMap {
            field in
            let number = UInt64(field.element.number) << 3
            switch field.element.value {
            case .varint(let value): return Self.varint(number) + Self.varint(value)
            case .fixed64(let value):
                return Self.varint(number | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
            case .bytes(let value): return Self.varint(number | 2) + Self.varint(UInt64(value.count)) + value
            }
        }
    }

    /// Puts other values in the place of a field, below the messages with the numbers `path`.
    mutating func replace(_ path: ArraySlice<Int>, _ number: Int, with values: [Value]) throws {
        guard let first = path.first else {
            fields.removeAll { $0.number == number }
            fields += values.map { (number, $0) }
            return
        }
        guard let index = fields.firstIndex(where: { $0.number == first }),
            case .bytes(let content) = fields[index].value
        else { throw TestFailure("no message \(first)") }
        var inner = try RawProtobuf(content)
        try inner.replace(path.dropFirst(), number, with: values)
        fields[index].value = .bytes(inner.bytes)
    }
}
