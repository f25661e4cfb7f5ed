/// 64 bits that stand for a text: the ledger compares content without keeping it. The same in every process, so that
/// the workers of one run can compare theirs.
///
/// Two texts share one with a probability of about 2^-64, so a mix-up that stays unseen is not a practical concern;
/// nobody here makes texts collide on purpose.
package struct Fingerprint: Hashable, Sendable, Codable {
    private let bits: UInt64

    package init(_ text: String) {
        var text = text
        bits = text.withUTF8 { Self.mix($0, seed: 0) }
    }

    /// The content of a message that is not a person's text, by what it says.
    package init(kind: String, _ number: Int) {
        var kind = kind
        let seed = UInt64(bitPattern: Int64(number)) &+ 1
        bits = kind.withUTF8 { Self.mix($0, seed: seed) }
    }

    package init(from decoder: any Decoder) throws { bits = try decoder.singleValueContainer().decode(UInt64.self) }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(bits)
    }

    /// FNV-1a over words of eight bytes, each stirred by the finalizer of MurmurHash3.
    private static func mix(_ bytes: UnsafeBufferPointer<UInt8>, seed: UInt64) -> UInt64 {
        var hash = 0xcbf2_9ce4_8422_2325 ^ stir(seed ^ UInt64(bytes.count))
        var index = 0
        while index < bytes.count {
            var word: UInt64 = 0
            for byte in bytes[index..<min(index + 8, bytes.count)] { word = word << 8 | UInt64(byte) }
            hash = stir((hash ^ word) &* 0x100_0000_01b3)
            index += 8
        }
        return hash
    }

    private static func stir(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ (word >> 33)) &* 0xff51_afd7_ed55_8ccd
        word = (word ^ (word >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return word ^ (word >> 33)
    }
}
