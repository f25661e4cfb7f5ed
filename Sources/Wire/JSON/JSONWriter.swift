import ChatModel

/// Writes messages as JSON text (RFC 8259), without white space; strings stay UTF-8 and only what must be is escaped.
public struct JSONWriter: FieldWalker, ByteWriter {
    public static var isDecoding: Bool { false }
    public static var describesSchema: Bool { false }
    public var enforcesLimits: Bool { false }

    /// The written bytes.
    private(set) var buffer: WriteBuffer
    private var needsComma = false

    init(_ buffer: WriteBuffer) { self.buffer = buffer }

    // MARK: Structure

    /// Begins an object. The result is for `endObject`.
    mutating func beginObject() -> Bool {
        buffer.append(UInt8(ascii: "{"))
        defer { needsComma = false }
        return needsComma
    }

    mutating func endObject(_ outer: Bool) {
        buffer.append(UInt8(ascii: "}"))
        needsComma = outer
    }

    mutating func append(key: StaticString) {
        let (count, hadComma) = (key.utf8CodeUnitCount, needsComma)
        needsComma = true
        // `,"key":` at most.
        var place = buffer.extend(by: count + 4)
        if hadComma {
            place[0] = UInt8(ascii: ",")
            place += 1
        }
        place[0] = UInt8(ascii: "\"")
        WriteBuffer.copyShort(key.utf8Start, to: place + 1, count)
        place[count + 1] = UInt8(ascii: "\"")
        place[count + 2] = UInt8(ascii: ":")
        if !hadComma { buffer.shrink(by: 1) }
    }

    mutating func append(literal: StaticString) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    mutating func appendArray(count: Int, _ item: (inout JSONWriter, Int) throws(ChatError) -> Void) throws(ChatError) {
        buffer.append(UInt8(ascii: "["))
        for index in 0..<count {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            try item(&self, index)
        }
        buffer.append(UInt8(ascii: "]"))
    }

    // MARK: Scalars

    mutating func append(string: String) {
        var string = string
        string.withUTF8 { utf8 in
            guard let start = utf8.baseAddress, Self.nextEscaped(utf8, from: 0) == utf8.count else {
                return append(escaping: utf8)
            }
            let place = buffer.extend(by: utf8.count + 2)
            place[0] = UInt8(ascii: "\"")
            WriteBuffer.copyShort(start, to: place + 1, utf8.count)
            place[utf8.count + 1] = UInt8(ascii: "\"")
        }
    }

    /// A string with something in it that may not stand there as it is: few have that.
    private mutating func append(escaping utf8: UnsafeBufferPointer<UInt8>) {
        buffer.append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let end = Self.nextEscaped(utf8, from: start)
            buffer.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<end]))
            guard end < utf8.count else { break }
            append(escaped: utf8[end])
            start = end + 1
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// The next byte from `place` on that may not stand in a string as it is; the end, if there is none. Eight bytes at a
    /// time, of which few have one.
    private static func nextEscaped(_ utf8: UnsafeBufferPointer<UInt8>, from place: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(utf8)
        var place = place
        while place &+ 8 <= utf8.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let escaped = JSONString.escaped(word)
            if escaped != 0 { return place &+ escaped.trailingZeroBitCount / 8 }
            place &+= 8
        }
        while place < utf8.count {
            let byte = utf8[place]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return place }
            place &+= 1
        }
        return place
    }

    private mutating func append(escaped byte: UInt8) {
        buffer.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
        case 0x08: buffer.append(UInt8(ascii: "b"))
        case 0x09: buffer.append(UInt8(ascii: "t"))
        case 0x0A: buffer.append(UInt8(ascii: "n"))
        case 0x0C: buffer.append(UInt8(ascii: "f"))
        case 0x0D: buffer.append(UInt8(ascii: "r"))
        default:
            append(literal: "u00")
            buffer.append(UInt8(ascii: "0") + (byte >> 4))
            let low = byte & 0x0F
            buffer.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + (low - 10))
        }
    }

    mutating func append(integer: Int64) {
        if integer < 0 { buffer.append(UInt8(ascii: "-")) }
        append(integer: integer.magnitude)
    }

    mutating func append(integer: UInt64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, first) = (integer, 20)
            repeat {
                first &-= 1
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                digits[first] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
                rest = quotient
            } while rest > 0
            buffer.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    /// The shortest decimal that reads back as the same number. JSON has no infinities: those become null.
    mutating func append(number: Double) {
        guard number.isFinite else { return append(literal: "null") }
        // Not `Int64(exactly:)`, which makes every program that imports this target link the C math library.
        if number.magnitude < 9_007_199_254_740_992, Double(Int64(number)) == number {
            return append(integer: Int64(number))
        }
        buffer.append(contentsOf: Array(number.description.utf8))
    }

    mutating func append(base64 content: [UInt8]) {
        buffer.append(UInt8(ascii: "\""))
        var encoded: [UInt8] = []
        Base64.encode(content, into: &encoded)
        buffer.append(contentsOf: encoded)
        buffer.append(UInt8(ascii: "\""))
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
        if case .none = value { return }
        append(key: name)
        try value?.writeJSON(to: &self)
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
            var item = items[index]
            try item.writeJSON(to: &writer)
        }
        return true
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        append(key: name)
        buffer.append(UInt8(ascii: "{"))
        for (index, pair) in pairs.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            append(string: pair.key)
            buffer.append(UInt8(ascii: ":"))
            append(string: pair.value)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    public mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        append(key: name)
        buffer.append(UInt8(ascii: "{"))
        for (index, count) in counts.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            append(string: count.key)
            buffer.append(UInt8(ascii: ":"))
            count.count.writeJSON(to: &self)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard var value = current() else { return false }
        append(key: name)
        try value.writeJSON(to: &self)
        return true
    }

    public mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8]) {
        append(key: name)
        buffer.append(contentsOf: bytes)
    }
}
