import ChatModel

extension CommandKey {
    /// 32 hexadecimal digits: the key of a `.command` row.
    public var text: String { Self.hex(high) + Self.hex(low) }

    /// Reads what `text` wrote; nil for anything else.
    public init?(text: String) {
        guard text.utf8.count == 32 else { return nil }
        let middle = text.utf8.index(text.startIndex, offsetBy: 16)
        guard let high = UInt64(text[..<middle], radix: 16), let low = UInt64(text[middle...], radix: 16) else {
            return nil
        }
        self.init(high: high, low: low)
        guard self.text == text else { return nil }
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
