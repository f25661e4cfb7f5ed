/// Base64 of RFC 4648, section 4: with padding, without line breaks, unused bits zero.
public enum Base64 {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text for `content`.
    public static func encode(_ content: [UInt8]) -> String {
        var text: [UInt8] = []
        encode(content, into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text for `content`.
    static func encode(_ content: [UInt8], into text: inout [UInt8]) {
        text.reserveCapacity(text.count + (content.count + 2) / 3 * 4)
        var index = 0
        while index < content.count {
            let taken = min(3, content.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < taken ? UInt32(content[index + offset]) : 0) }
            for digit in 0..<4 {
                let value = Int(group >> UInt32(18 - 6 * digit) & 0x3F)
                text.append(digit <= taken ? alphabet[value] : UInt8(ascii: "="))
            }
            index += taken
        }
    }

    /// The content of `text`, or nil if it is not base64.
    public static func decode(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        guard utf8.count % 4 == 0 else { return nil }
        var content: [UInt8] = []
        content.reserveCapacity(utf8.count / 4 * 3)
        var index = 0
        while index < utf8.count {
            let isLast = index + 4 == utf8.count
            var group: UInt32 = 0
            var padding = 0
            for offset in 0..<4 {
                let byte = utf8[index + offset]
                if byte == UInt8(ascii: "="), isLast, offset >= 2 {
                    padding += 1
                    group <<= 6
                } else {
                    guard padding == 0, let value = value(of: byte) else { return nil }
                    group = group << 6 | value
                }
            }
            guard padding == 0 || group & (padding == 1 ? 0xFF : 0xFFFF) == 0 else { return nil }
            content.append(UInt8(truncatingIfNeeded: group >> 16))
            if padding < 2 { content.append(UInt8(truncatingIfNeeded: group >> 8)) }
            if padding < 1 { content.append(UInt8(truncatingIfNeeded: group)) }
            index += 4
        }
        return content
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
