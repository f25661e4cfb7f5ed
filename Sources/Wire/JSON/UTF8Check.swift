/// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
package enum UTF8Check {
    /// The length of the sequence that begins at `position` with a byte of 0x80 or more, or 0 if it is invalid.
    static func sequenceLength(_ text: UnsafeRawBufferPointer, at position: Int) -> Int {
        func isTail(_ offset: Int) -> Bool {
            position + offset < text.count && text[position + offset] & 0xC0 == 0x80
        }
        guard position + 1 < text.count else { return 0 }
        let second = text[position + 1]
        switch text[position] {
        case 0xC2...0xDF: return isTail(1) ? 2 : 0
        case 0xE0: return second >= 0xA0 && isTail(1) && isTail(2) ? 3 : 0
        case 0xED: return second < 0xA0 && isTail(1) && isTail(2) ? 3 : 0
        case 0xE1...0xEF: return isTail(1) && isTail(2) ? 3 : 0
        case 0xF0: return second >= 0x90 && isTail(1) && isTail(2) && isTail(3) ? 4 : 0
        case 0xF1...0xF3: return isTail(1) && isTail(2) && isTail(3) ? 4 : 0
        case 0xF4: return second < 0x90 && isTail(1) && isTail(2) && isTail(3) ? 4 : 0
        default: return 0
        }
    }

    /// Whether the whole of `text` is valid.
    package static func isValid(_ text: UnsafeRawBufferPointer) -> Bool {
        if text.count < 8 {
            var all: UInt8 = 0
            for byte in text { all |= byte }
            return all < 0x80 || isValid(text, from: 0)
        }
        // Eight bytes at a time; the last ones once more.
        let last = text.count - 8
        var position = 0
        while position < last {
            guard isASCII(text, at: position) else { return isValid(text, from: position) }
            position += 8
        }
        return isASCII(text, at: last) || isValid(text, from: position)
    }

    /// Whether eight bytes are.
    @inline(__always)
    private static func isASCII(_ text: UnsafeRawBufferPointer, at position: Int) -> Bool {
        text.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    }

    /// The same of what begins at `start`, which is no tail of a sequence.
    private static func isValid(_ text: UnsafeRawBufferPointer, from start: Int) -> Bool {
        var position = start
        while position < text.count {
            if text.count - position >= 8, isASCII(text, at: position) {
                position += 8
            } else if text[position] < 0x80 {
                position += 1
            } else {
                let length = sequenceLength(text, at: position)
                guard length > 0 else { return false }
                position += length
            }
        }
        return true
    }

    /// Gives the bytes of a scalar value in order.
    static func encode(_ scalar: UInt32, _ put: (UInt8) -> Void) {
        func byte(_ value: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: value) }
        switch scalar {
        case 0..<0x80:
            put(byte(scalar))
        case 0x80..<0x800:
            put(byte(0xC0 | scalar >> 6))
            put(byte(0x80 | scalar & 0x3F))
        case 0x800..<0x10000:
            put(byte(0xE0 | scalar >> 12))
            put(byte(0x80 | scalar >> 6 & 0x3F))
            put(byte(0x80 | scalar & 0x3F))
        default:
            put(byte(0xF0 | scalar >> 18))
            put(byte(0x80 | scalar >> 12 & 0x3F))
            put(byte(0x80 | scalar >> 6 & 0x3F))
            put(byte(0x80 | scalar & 0x3F))
        }
    }
}
