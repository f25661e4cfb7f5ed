/// Bytes as hexadecimal digits, two for each, in lower case.
public enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The text for `bytes`.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] }, as: UTF8.self)
    }

    /// The bytes of a text of digits in lower case, two for each; nil for any other text.
    public static func decode(_ text: String) -> [UInt8]? {
        let values = text.utf8.map { digits.firstIndex(of: $0) }
        guard values.count.isMultiple(of: 2), values.allSatisfy({ $0 != nil }) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { place in
            UInt8((values[place] ?? 0) << 4 | (values[place + 1] ?? 0))
        }
    }
}
