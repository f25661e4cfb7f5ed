/// SipHash-2-4 with 128 bits of output.
public enum SipHash128 {
    /// - Returns: the first word of the output, then the second.
    public static func hash(_ bytes: UnsafeRawBufferPointer, key: (UInt64, UInt64)) -> (UInt64, UInt64) {
        var v0 = key.0 ^ 0x736f_6d65_7073_6575
        var v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        var v2 = key.0 ^ 0x6c79_6765_6e65_7261
        var v3 = key.1 ^ 0x7465_6462_7974_6573

        func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
        func rounds(_ count: Int) {
            for _ in 0..<count {
                v0 &+= v1
                v1 = rotate(v1, 13) ^ v0
                v0 = rotate(v0, 32)
                v2 &+= v3
                v3 = rotate(v3, 16) ^ v2
                v0 &+= v3
                v3 = rotate(v3, 21) ^ v0
                v2 &+= v1
                v1 = rotate(v1, 17) ^ v2
                v2 = rotate(v2, 32)
            }
        }
        func take(_ word: UInt64) {
            v3 ^= word
            rounds(2)
            v0 ^= word
        }

        var word: UInt64 = 0
        let whole = bytes.count & ~7
        for position in stride(from: 0, to: whole, by: 8) {
            take(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
        }
        for position in whole..<bytes.count {
            word |= UInt64(bytes[position]) << UInt64((position - whole) * 8)
        }
        take(word | UInt64(bytes.count & 0xFF) << 56)
        v2 ^= 0xee
        rounds(4)
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        rounds(4)
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }
}
