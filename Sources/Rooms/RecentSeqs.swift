/// The messages that were recalled last, or amended, for what was read before.
struct RecentSeqs {
    /// More than one recall names.
    static let countMax = 2_048
    /// How many there were since the room is in memory.
    private(set) var count: UInt64 = 0
    /// The last of them; the one after the latest is the oldest.
    private var seqs: [UInt64] = []

    mutating func note(_ seq: UInt64) {
        let place = Int(count % UInt64(Self.countMax))
        if place < seqs.count { seqs[place] = seq } else { seqs.append(seq) }
        count += 1
    }

    /// Whether a message is among those that came after the first `former` ones; nil when they are too many to tell.
    func contains(_ seq: UInt64, since former: UInt64) -> Bool? {
        guard count - former <= UInt64(Self.countMax) else { return nil }
        return (former..<count).contains { seqs[Int($0 % UInt64(Self.countMax))] == seq }
    }
}
