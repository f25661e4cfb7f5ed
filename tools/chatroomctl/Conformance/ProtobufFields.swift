/// Protobuf's wire format, as little of it as the checks need. It knows nothing of this implementation's encoder, so
/// that it finds its errors.
struct ProtobufFields: Sendable {
    /// A varint or the bytes of a length-delimited field.
    enum Value: Sendable, Hashable {
        case number(UInt64)
        case bytes([UInt8])
    }

    private(set) var fields: [(number: Int, value: Value)] = []

    init(_ fields: [(number: Int, value: Value)]) { self.fields = fields }

    /// nil for anything that is not a message.
    init?(parsing bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            guard let tag = Self.varint(&rest) else { return nil }
            switch tag & 7 {
            case 0:
                guard let number = Self.varint(&rest) else { return nil }
                fields.append((Int(tag >> 3), .number(number)))
            case 1, 5:
                let count = tag & 7 == 1 ? 8 : 4
                guard rest.count >= count else { return nil }
                rest = rest.dropFirst(count)
            case 2:
                guard let count = Self.varint(&rest), count <= rest.count else { return nil }
                fields.append((Int(tag >> 3), .bytes(Array(rest.prefix(Int(count))))))
                rest = rest.dropFirst(Int(count))
            default: return nil
            }
        }
    }

    /// The messages of a frame, each behind its length; nil when it holds anything else.
    static func messages(of frame: [UInt8]) -> [ProtobufFields]? {
        var messages: [ProtobufFields] = []
        var rest = frame[...]
        while !rest.isEmpty {
            guard let count = varint(&rest), count <= rest.count,
                let message = ProtobufFields(parsing: rest.prefix(Int(count)))
            else { return nil }
            messages.append(message)
            rest = rest.dropFirst(Int(count))
        }
        return messages
    }

    /// The message without its length.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for (number, value) in fields {
            switch value {
            case .number(let value): bytes += Self.varint(UInt64(number) << 3) + Self.varint(value)
            case .bytes(let value):
                bytes += Self.varint(UInt64(number) << 3 | 2) + Self.varint(UInt64(value.count)) + value
            }
        }
        return bytes
    }

    /// The message as it stands in a frame.
    var delimited: [UInt8] { Self.varint(UInt64(bytes.count)) + bytes }

    func number(_ field: Int) -> UInt64? {
        for case (field, .number(let value)) in fields { return value }
        return nil
    }

    func text(_ field: Int) -> String? { content(field).map { String(decoding: $0, as: UTF8.self) } }

    func message(_ field: Int) -> ProtobufFields? { content(field).flatMap { ProtobufFields(parsing: $0) } }

    private func content(_ field: Int) -> [UInt8]? {
        for case (field, .bytes(let value)) in fields { return value }
        return nil
    }

    private static func varint(_ number: UInt64) -> [UInt8] {
        var (number, bytes) = (number, [UInt8]())
        while number >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        return bytes + [UInt8(number)]
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }
}
