/// A protobuf message as text for transcripts: numbers and values of its fields, with no schema in between that could
/// change together with the program.
///
/// `1:7 15:{1:"hall" 24:#4045000000000000}`: a varint, a message that holds a text and eight bytes, lowest first. Bytes
/// that are neither text nor a message are `%` and hexadecimal digits.
enum ProtobufText {
    // MARK: - Writing

    /// The message as text; nil for bytes that are no message in the form that common encoders write.
    static func text(ofMessage bytes: [UInt8]) -> String? {
        guard let message = try? RawProtobuf(bytes), message.bytes == bytes,
            message.fields.allSatisfy({ (1...999).contains($0.number) })
        else { return nil }
        return message.fields.map { "\($0.number):\(text(of: $0.value))" }.joined(separator: " ")
    }

    private static func text(of value: RawProtobuf.Value) -> String {
        switch value {
        case .varint(let number): "\(number)"
        case .fixed64(let bits): "#" + hexadecimal((0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64($0 * 8)) })
        case .bytes(let bytes):
            if let text = string(bytes) {
                "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
            } else if let text = text(ofMessage: bytes) {
                "{\(text)}"
            } else {
                "%" + hexadecimal(bytes)
            }
        }
    }

    /// The text that bytes are; nil for those that are not UTF-8 or hold a control character, as messages do.
    private static func string(_ bytes: [UInt8]) -> String? {
        bytes.contains { $0 < 0x20 || $0 == 0x7F } ? nil : String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    // MARK: - Reading

    /// The bytes of a message that was written as text.
    static func bytes(ofMessage text: String) throws -> [UInt8] {
        var rest = text[...]
        let message = try message(&rest)
        guard rest.isEmpty else { throw TestFailure("no field: \(rest)") }
        return message.bytes
    }

    private static func message(_ text: inout Substring) throws -> RawProtobuf {
        var message = RawProtobuf()
        while true {
            text = text.drop { $0 == " " }
            guard let first = text.first, first != "}" else { return message }
            let number = try number(&text)
            guard text.popFirst() == ":" else { throw TestFailure("no value: \(text)") }
            message.fields.append((Int(number), try value(&text)))
        }
    }

    private static func value(_ text: inout Substring) throws -> RawProtobuf.Value {
        switch text.first {
        case "{":
            text.removeFirst()
            let inner = try message(&text)
            guard text.popFirst() == "}" else { throw TestFailure("no end of a message: \(text)") }
            return .bytes(inner.bytes)
        case "\"":
            text.removeFirst()
            return .bytes(Array(try quoted(&text).utf8))
        case "#":
            text.removeFirst()
            let bytes = try hexadecimal(&text)
            guard bytes.count == 8 else { throw TestFailure("not eight bytes, before: \(text)") }
            return .fixed64(bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        case "%":
            text.removeFirst()
            return .bytes(try hexadecimal(&text))
        default: return .varint(try number(&text))
        }
    }

    private static func number(_ text: inout Substring) throws -> UInt64 {
        let digits = text.prefix { $0.isWholeNumber }
        guard let number = UInt64(digits) else { throw TestFailure("no number: \(text)") }
        text = text.dropFirst(digits.count)
        return number
    }

    private static func quoted(_ text: inout Substring) throws -> String {
        var string = ""
        while let next = text.popFirst() {
            switch next {
            case "\"": return string
            case "\\":
                guard let escaped = text.popFirst() else { break }
                string.append(escaped)
            default: string.append(next)
            }
        }
        throw TestFailure("no end of a text")
    }

    private static func hexadecimal(_ text: inout Substring) throws -> [UInt8] {
        let digits = Array(text.prefix { $0.isHexDigit })
        text = text.dropFirst(digits.count)
        guard digits.count.isMultiple(of: 2) else { throw TestFailure("half a byte, before: \(text)") }
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }
}
