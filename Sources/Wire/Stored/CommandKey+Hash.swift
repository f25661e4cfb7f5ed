import ChatModel

/// The key under which the result of a command is remembered: SipHash-2-4 with 128 bits of output
/// (Aumasson and Bernstein, with the 128-bit variant of the reference code) over scope, a zero byte and text, with a
/// fixed key. It is on disk, so it never changes.
///
/// The key is public: a user who looked for collisions could only make own commands look like own repeats, since the
/// scope, the user, is hashed in front and cannot hold a zero byte.
public func commandKey(_ id: CommandID) -> CommandKey {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(id.scope.utf8.count + id.text.utf8.count + 1)
    bytes.append(contentsOf: id.scope.utf8)
    bytes.append(0)
    bytes.append(contentsOf: id.text.utf8)
    let (low, high) = SipHash128.hash(bytes, key: (0x6368_6174_726f_6f6d, 0x636f_6d6d_616e_6420))
    return CommandKey(high: high, low: low)
}

/// SipHash-2-4 with 128 bits of output.
enum SipHash128 {
    static func hash(_ bytes: [UInt8], key: (UInt64, UInt64)) -> (UInt64, UInt64) {
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
        for (index, byte) in bytes.enumerated() {
            word |= UInt64(byte) << UInt64(index % 8 * 8)
            if index % 8 == 7 {
                take(word)
                word = 0
            }
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
