/// Numbers of RFC 8259, section 6. Integers are exact: they never pass through floating point.
enum JSONNumber {
    /// The position after the number that begins at `start`, or nil if there is none.
    static func scan(_ text: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var position = start
        if byte(text, position) == UInt8(ascii: "-") { position += 1 }
        let whole = position
        position = skipDigits(text, from: position)
        guard position > whole, position == whole + 1 || text[whole] != UInt8(ascii: "0") else { return nil }
        if byte(text, position) == UInt8(ascii: ".") {
            let fraction = position + 1
            position = skipDigits(text, from: fraction)
            guard position > fraction else { return nil }
        }
        if byte(text, position) | 0x20 == UInt8(ascii: "e") {
            position += 1
            if byte(text, position) == UInt8(ascii: "+") || byte(text, position) == UInt8(ascii: "-") { position += 1 }
            let exponent = position
            position = skipDigits(text, from: exponent)
            guard position > exponent else { return nil }
        }
        return position
    }

    /// The byte at `position`, or 0 at the end.
    private static func byte(_ text: UnsafeRawBufferPointer, _ position: Int) -> UInt8 {
        position < text.count ? text[position] : 0
    }

    private static func skipDigits(_ text: UnsafeRawBufferPointer, from position: Int) -> Int {
        var position = position
        while position < text.count, isDigit(text[position]) { position += 1 }
        return position
    }

    /// Sign and size of a scanned number, or nil if it has a fractional part or does not fit. `1.0` and `1e3` are
    /// integers.
    static func integer(_ text: UnsafeRawBufferPointer) -> (isNegative: Bool, magnitude: UInt64)? {
        let isNegative = text.first == UInt8(ascii: "-")
        var magnitude: UInt64 = 0
        /// Zeros that follow the last digit other than 0 that was taken.
        var zeros = 0
        var fractionDigits = 0
        var inFraction = false
        var exponent = 0
        var position = isNegative ? 1 : 0
        scanning: while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "0"):
                zeros += 1
                if inFraction { fractionDigits += 1 }
            case UInt8(ascii: "1")...UInt8(ascii: "9"):
                guard let shifted = shift(magnitude, by: zeros + 1) else { return nil }
                let (sum, overflow) = shifted.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
                guard !overflow else { return nil }
                magnitude = sum
                zeros = 0
                if inFraction { fractionDigits += 1 }
            case UInt8(ascii: "."):
                inFraction = true
            default:
                exponent = decimalExponent(UnsafeRawBufferPointer(rebasing: text[position...]))
                break scanning
            }
        }
        guard magnitude > 0 else { return (isNegative, 0) }
        let power = exponent - fractionDigits + zeros
        guard power >= 0, let result = shift(magnitude, by: power) else { return nil }
        return (isNegative, result)
    }

    /// Sizes beyond 10^8 become that: no number with such an exponent fits anyway. (Ten times 10^9 would be more than an
    /// `Int` of 32 bits holds, which watches have.)
    private static func decimalExponent(_ text: UnsafeRawBufferPointer) -> Int {
        var value = 0
        for byte in text where isDigit(byte) { value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 100_000_000) }
        return text.first == UInt8(ascii: "-") ? -value : value
    }

    private static func shift(_ value: UInt64, by zeros: Int) -> UInt64? {
        guard value > 0 else { return 0 }
        guard zeros < 20 else { return nil }
        var value = value
        for _ in 0..<zeros {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            value = product
        }
        return value
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
