/// The inside of JSON strings (RFC 8259, section 7).
enum JSONString {
    enum Scan {
        /// `end` is the position of the closing quote.
        case valid(end: Int, isEscaped: Bool)
        case invalid(at: Int, StaticString)
    }

    /// Checks a string from after its opening quote.
    static func scan(_ text: UnsafeRawBufferPointer, from start: Int) -> Scan {
        var position = start
        var isEscaped = false
        while position < text.count {
            if text.count - position >= 8 {
                let special = special(
                    UInt64(littleEndian: text.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
                guard special != 0 else {
                    position += 8
                    continue
                }
                position += special.trailingZeroBitCount / 8
            }
            let byte = text[position]
            if byte == UInt8(ascii: "\"") { return .valid(end: position, isEscaped: isEscaped) }
            if byte == UInt8(ascii: "\\") {
                guard let next = escape(text, at: position) else { return .invalid(at: position, "a wrong escape") }
                isEscaped = true
                position = next
            } else if byte < 0x20 {
                return .invalid(at: position, "a control character in a string")
            } else if byte < 0x80 {
                position += 1
            } else {
                let length = UTF8Check.sequenceLength(text, at: position)
                guard length > 0 else { return .invalid(at: position, "invalid UTF-8") }
                position += length
            }
        }
        return .invalid(at: position, "a string without end")
    }

    /// The top bit of each byte that is no ASCII, ends a string, begins an escape or is a control character. Bytes above the
    /// first of them may be marked for nothing.
    private static func special(_ bytes: UInt64) -> UInt64 { (escaped(bytes) | bytes) & 0x8080_8080_8080_8080 }

    /// The top bit of each byte that may not stand in a string as it is: those below 0x20, a quotation mark and a backslash.
    /// Bytes above the first of them may be marked for nothing, by a carry.
    static func escaped(_ bytes: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // With bit 1 turned, a quotation mark, 0x22, is below 0x21 like those below 0x20, and no other byte is.
        let below = (bytes ^ (ones &* 0x02)) &- ones &* 0x21
        let backslash = (bytes ^ (ones &* 0x5C)) &- ones
        return (below | backslash) & ~bytes & 0x8080_8080_8080_8080
    }

    /// The position after the escape that begins at `position`, or nil for a wrong one. A pair of surrogates is one
    /// escape.
    private static func escape(_ text: UnsafeRawBufferPointer, at position: Int) -> Int? {
        guard position + 1 < text.count else { return nil }
        switch text[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position + 2
        case UInt8(ascii: "u"):
            guard let unit = codeUnit(text, at: position) else { return nil }
            guard unit & 0xF800 == 0xD800 else { return position + 6 }
            guard unit < 0xDC00, let low = codeUnit(text, at: position + 6), low & 0xFC00 == 0xDC00 else { return nil }
            return position + 12
        default:
            return nil
        }
    }

    /// The number of the `\uXXXX` at `position`, or nil if there is none.
    private static func codeUnit(_ text: UnsafeRawBufferPointer, at position: Int) -> UInt32? {
        guard text.count - position >= 6, text[position] == UInt8(ascii: "\\"), text[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt32 = 0
        for index in position + 2..<position + 6 {
            let byte = text[index]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// Writes what a checked string means. It is never longer than the string.
    /// - Returns: the number of bytes written.
    static func resolve(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var count = 0
        func put(_ byte: UInt8) {
            if count < target.count { target[count] = byte }
            count += 1
        }
        var position = 0
        while position < text.count {
            let byte = text[position]
            guard byte == UInt8(ascii: "\\"), position + 1 < text.count else {
                put(byte)
                position += 1
                continue
            }
            let kind = text[position + 1]
            guard kind == UInt8(ascii: "u"), let unit = codeUnit(text, at: position) else {
                put(simple(kind))
                position += 2
                continue
            }
            var scalar = unit
            position += 6
            if unit & 0xFC00 == 0xD800, let low = codeUnit(text, at: position) {
                scalar = 0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF)
                position += 6
            }
            UTF8Check.encode(scalar, put)
        }
        return min(count, target.count)
    }

    private static func simple(_ kind: UInt8) -> UInt8 {
        switch kind {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: kind
        }
    }
}
