import ChatModel

/// Writes messages as JSON text (RFC 8259), without white space; strings stay UTF-8 and only what must be is escaped.
public struct JSONWriter: FieldWalker {
    public static var isDecoding: Bool { false }
    public static var describesSchema: Bool { false }
    public var enforcesLimits: Bool { false }

    /// The written bytes.
    public internal(set) var bytes: [UInt8]
    private var needsComma = false

    /// Goes on after `bytes`.
    public init(appendingTo bytes: consuming [UInt8] = []) { self.bytes = bytes }

    // MARK: Structure

    /// Begins an object. The result is for `endObject`.
    mutating func beginObject() -> Bool {
        bytes.append(UInt8(ascii: "{"))
        defer { needsComma = false }
        return needsComma
    }

    mutating func endObject(_ outer: Bool) {
        bytes.append(UInt8(ascii: "}"))
        needsComma = outer
    }

    mutating func append(key: StaticString) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        bytes.append(UInt8(ascii: "\""))
        append(literal: key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func append(literal: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    mutating func appendArray(count: Int, _ item: (inout JSONWriter, Int) throws(ChatError) -> Void) throws(ChatError) {
        bytes.append(UInt8(ascii: "["))
        for index in 0..<count {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            try item(&self, index)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    // MARK: Scalars

    mutating func append(string: String) {
        bytes.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { utf8 in
            var start = 0
            for index in 0..<utf8.count {
                let byte = utf8[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                bytes.append(contentsOf: utf8[start..<index])
                append(escaped: byte)
                start = index + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaped byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            append(literal: "u00")
            bytes.append(UInt8(ascii: "0") + (byte >> 4))
            let low = byte & 0x0F
            bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + (low - 10))
        }
    }

    mutating func append(integer: Int64) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        append(integer: integer.magnitude)
    }

    mutating func append(integer: UInt64) {
        let start = bytes.count
        var rest = integer
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// The shortest decimal that reads back as the same number. JSON has no infinities: those become null.
    mutating func append(number: Double) {
        guard number.isFinite else { return append(literal: "null") }
        // Not `Int64(exactly:)`, which makes every program that imports this target link the C math library.
        if number.magnitude < 9_007_199_254_740_992, Double(Int64(number)) == number {
            return append(integer: Int64(number))
        }
        bytes.append(contentsOf: number.description.utf8)
    }

    mutating func append(base64 content: [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(content, into: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    // MARK: Fields

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        append(key: name)
        try value.writeJSON(to: &self)
    }

    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let value else { return }
        append(key: name)
        try value.writeJSON(to: &self)
    }

    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) {
        guard value != fallback else { return }
        append(key: name)
        try value.writeJSON(to: &self)
    }

    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        append(key: name)
        try value.writeJSON(to: &self)
    }

    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        guard always || !values.isEmpty else { return false }
        append(key: name)
        let items = values
        try appendArray(count: items.count) { writer, index throws(ChatError) in
            try items[index].writeJSON(to: &writer)
        }
        return true
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        append(key: name)
        bytes.append(UInt8(ascii: "{"))
        for (index, pair) in pairs.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(string: pair.key)
            bytes.append(UInt8(ascii: ":"))
            append(string: pair.value)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard let value = current() else { return false }
        append(key: name)
        try value.writeJSON(to: &self)
        return true
    }

    public mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8]) {
        append(key: name)
        self.bytes.append(contentsOf: bytes)
    }
}
