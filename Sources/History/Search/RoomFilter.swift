import ChatModel

/// The rooms that an index may have something of, in a few bytes: a Bloom filter. A room that it denies is not there; so a
/// search opens only those of a shard's files in which its room has said something.
struct RoomFilter: Sendable {
    private var words: [UInt64]

    /// 4 KiB: one room of forty too many at 4,000 rooms of one file.
    private static let bitsMax = 32_768
    private static let bitsMin = 64
    private static let bitsOfRoom = 16
    private static let probes = 4
    /// More rooms than that get no filter: each is looked for in the file.
    static let roomsMax = bitsMax / 4

    /// - Parameter rooms: how many there will be; nil: that is not known yet.
    init(for rooms: Int?) {
        var bits = Self.bitsMin
        let wanted = rooms.map { min($0, Self.bitsMax) * Self.bitsOfRoom } ?? Self.bitsMax
        while bits < min(wanted, Self.bitsMax) { bits *= 2 }
        words = [UInt64](repeating: 0, count: bits / UInt64.bitWidth)
    }

    private func place(_ probe: Int, _ hash: UInt64) -> (word: Int, bit: UInt64) {
        // Two halves of one hash make all of them.
        let sum = (hash & 0xFFFF_FFFF) &+ UInt64(probe) &* (hash >> 32 | 1)
        let place = Int(sum % UInt64(words.count * UInt64.bitWidth))
        return (place / UInt64.bitWidth, 1 << UInt64(place % UInt64.bitWidth))
    }

    /// Spreads numbers of lives, which are alike (SplitMix64).
    private static func hash(_ life: Incarnation) -> UInt64 {
        var value = life.number &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func insert(_ life: Incarnation) {
        let hash = Self.hash(life)
        for probe in 0..<Self.probes {
            let (word, bit) = place(probe, hash)
            words[word] |= bit
        }
    }

    func mayHave(_ life: Incarnation) -> Bool {
        let hash = Self.hash(life)
        return (0..<Self.probes).allSatisfy { probe in
            let (word, bit) = place(probe, hash)
            return words[word] & bit != 0
        }
    }
}
