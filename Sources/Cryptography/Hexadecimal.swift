/// Bytes as hexadecimal digits, two for each, in lower case.
public enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The text for `bytes`.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] }, as: UTF8.self)
    }
}
