/// Base64url without padding (RFC 7515 §2, RFC 4648 §5): one text for each content, and nothing else is one.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The text for `content`.
    public static func encode(_ content: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((content.count * 4 + 2) / 3)
        var held: UInt32 = 0
        var bits = 0
        for byte in content {
            held = held << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(held >> UInt32(bits) & 0x3F)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(held << UInt32(6 - bits) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The content of a text in ASCII; nil for any other character, a length that no content has, and unused bits that
    /// are not zero.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var content: [UInt8] = []
        content.reserveCapacity(text.count * 3 / 4)
        var held: UInt32 = 0
        var bits = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            held = held << 6 | value
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            content.append(UInt8(truncatingIfNeeded: held >> UInt32(bits)))
        }
        return held & (1 << UInt32(bits) - 1) == 0 ? content : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
