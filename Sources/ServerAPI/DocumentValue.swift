/// A JSON text (RFC 8259) to write, with its members in the order given, so that the same value is always the
/// same bytes. For the OpenAPI document; what clients and the server exchange is `Wire`'s.
indirect enum DocumentValue: Sendable, Hashable {
    case object([Member])
    case array([DocumentValue])
    case text(String)
    case number(Int64)
    case boolean(Bool)

    struct Member: Sendable, Hashable {
        var name: String
        var value: DocumentValue
    }

    static func object(_ members: KeyValuePairs<String, DocumentValue>) -> DocumentValue {
        .object(members.map { Member(name: $0.key, value: $0.value) })
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return bytes
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .object(let members):
            Self.write(members, between: "{", and: "}", into: &bytes) { member, bytes in
                Self.write(member.name, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes)
            }
        case .array(let values):
            Self.write(values, between: "[", and: "]", into: &bytes) { $0.write(into: &$1) }
        case .text(let text):
            Self.write(text, into: &bytes)
        case .number(let number):
            bytes.append(contentsOf: String(number).utf8)
        case .boolean(let flag):
            bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        }
    }

    private static func write<Item>(
        _ items: [Item], between open: Unicode.Scalar, and close: Unicode.Scalar, into bytes: inout [UInt8],
        each: (Item, inout [UInt8]) -> Void
    ) {
        bytes.append(UInt8(ascii: open))
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            each(item, &bytes)
        }
        bytes.append(UInt8(ascii: close))
    }

    private static func write(_ text: String, into bytes: inout [UInt8]) {
        let hexadecimal = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0..<0x20:
                bytes.append(contentsOf: Array("\\u00".utf8))
                bytes.append(contentsOf: [hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]])
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
