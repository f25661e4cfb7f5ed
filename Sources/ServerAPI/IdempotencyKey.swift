import ChatModel

/// The `Idempotency-Key` header, and the room ID that follows from it where the caller chose none.
enum IdempotencyKey {
    static let bytesMax = Limits.clientIDBytes

    /// - Throws: 414 unless the key is 1-64 printable ASCII characters.
    static func check(_ key: String) throws(ChatError) -> String {
        let utf8 = key.utf8
        guard (1...bytesMax).contains(utf8.count), utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw ChatError(
                .badParameter, "Idempotency-Key must be 1-\(bytesMax) printable ASCII characters",
                field: "Idempotency-Key")
        }
        return key
    }

    /// The ID of a room that was created without one: of the key, so that a repeat finds the same room, else random.
    static func roomID(for key: String?) -> RoomID {
        let bits = key.map(hash) ?? UInt128.random(in: .min ... .max)
        guard let room = RoomID(uuidText(bits, version: key == nil ? 4 : 8)) else {
            preconditionFailure("hexadecimal digits and hyphens make a valid room ID")
        }
        return room
    }

    /// FNV-1a, 128 bits (RFC 9923). Callers are administrators, so nobody gains from a collision.
    private static func hash(_ key: String) -> UInt128 {
        let basis: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        return key.utf8.reduce(basis) { ($0 ^ UInt128($1)) &* prime }
    }

    /// The form of RFC 9562: 4 is random, 8 is of our own making.
    private static func uuidText(_ bits: UInt128, version: UInt128) -> String {
        let versioned = bits & ~(0xF << 76) | version << 76
        let variant = versioned & ~(0x3 << 62) | 0x2 << 62
        let digits = String(variant, radix: 16)
        let text = String(repeating: "0", count: 32 - digits.count) + digits
        var parts: [Substring] = []
        var rest = text[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}
