import ChatModel

/// A barrage item's place in the order in which a sample is picked: the first ones are in it.
///
/// A text that several have sent has the best place of its items. So a sample is what is found by taking items in this
/// order until there are enough different texts, and the best ones of several gateways hold the best ones of all.
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

    static func < (a: BarrageRank, b: BarrageRank) -> Bool { a.key < b.key }

    /// Which of these are not among the first `count`.
    static func rest(of ranks: [BarrageRank], after count: Int) -> [Int] {
        guard ranks.count > count else { return [] }
        var places = ranks.indices.map { (key: ranks[$0].key, index: $0) }
        places.sort { $0.key < $1.key }
        return places[max(0, count)...].map(\.index)
    }
}
