import ChatModel

/// A barrage item's place in the order in which a sample is picked: the first ones are in it.
///
/// Within a priority nobody's second item comes before anybody's first one: a flood takes places only when there are too few
/// others for them. An item that several have sent has the best place of theirs. So a sample is what is found by taking
/// items in this order until there are enough different ones, and the best ones of several gateways hold the best ones of
/// all.
struct BarrageRank: Sendable, Hashable, Comparable {
    let priority: Priority
    let hash: UInt64
    /// The priority, then the hash but for its last bits: one comparison, because most of a sample's cost is sorting.
    private let key: UInt64

    init(priority: Priority, hash: UInt64) {
        self.priority = priority
        self.hash = hash
        let order: UInt64 =
            switch priority {
            case .high: 0
            case .normal: 1
            case .low: 2
            }
        key = order << 62 | hash >> 2
    }

    /// The hash of a sender's item, with how many the sender has sent before it in the window as its first bits.
    static func hash(_ hash: UInt64, after count: Int) -> UInt64 {
        UInt64(min(count, countMax)) << 56 | hash >> 8
    }

    /// The same for the next item of a sender.
    /// - Parameter count: how many the sender has sent in the window; one more afterwards.
    static func hash(_ hash: UInt64, next count: inout Int) -> UInt64 {
        defer { count += 1 }
        return self.hash(hash, after: count)
    }

    /// Nobody's further items are told apart.
    private static let countMax = 255

    static func < (a: BarrageRank, b: BarrageRank) -> Bool { a.key < b.key }

    /// Whether it is of a higher priority.
    func isHigher(than other: BarrageRank) -> Bool { key >> 62 < other.key >> 62 }

    /// Which of these are not among the first `count`.
    static func rest(of ranks: [BarrageRank], after count: Int) -> [Int] {
        guard ranks.count > count else { return [] }
        var places = ranks.indices.map { (key: ranks[$0].key, index: $0) }
        places.sort { $0.key < $1.key }
        return places[max(0, count)...].map(\.index)
    }
}
