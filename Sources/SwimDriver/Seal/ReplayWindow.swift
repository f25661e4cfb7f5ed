/// Which numbers of one sender have been seen: those of the last 1,024, in a ring of bits; older ones count as seen
/// (RFC 6479).
struct ReplayWindow: Hashable, Sendable {
    private static let words = 16
    static let width = UInt64(words * 64)

    private var highest: UInt64 = 0
    private var isEmpty = true
    private var bits = [UInt64](repeating: 0, count: words)

    func isNew(_ number: UInt64) -> Bool {
        guard !isEmpty, number <= highest else { return true }
        guard highest - number < Self.width else { return false }
        let (word, bit) = Self.place(number)
        return bits[word] & bit == 0
    }

    /// Call only for a number that `isNew` and whose packet was authenticated.
    mutating func note(_ number: UInt64) {
        if isEmpty || number > highest {
            let passed = isEmpty ? Self.width : number - highest
            if passed >= Self.width {
                bits = [UInt64](repeating: 0, count: Self.words)
            } else {
                for skipped in (highest + 1)...number {
                    let (word, bit) = Self.place(skipped)
                    bits[word] &= ~bit
                }
            }
            highest = number
            isEmpty = false
        }
        let (word, bit) = Self.place(number)
        bits[word] |= bit
    }

    private static func place(_ number: UInt64) -> (word: Int, bit: UInt64) {
        (Int(truncatingIfNeeded: number / 64 % UInt64(words)), 1 << (number % 64))
    }
}
