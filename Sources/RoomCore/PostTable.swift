import ChatModel

/// The kept posts of a while by the keys of their commands. Each post looks for itself in up to eleven of these, and nearly
/// always in vain: so a look costs a multiplication and one place in memory, where a dictionary would hash the key.
///
/// It grows in independent parts, so that growing never moves more than a part's entries.
struct PostTable: Sendable {
    /// Open addressing with linear probing, a power of two of slots, at most three quarters of them taken. Nothing is ever
    /// removed.
    private struct Part: Sendable {
        /// `post.seq` 0: free. Kept messages count from 1.
        var slots: [(key: CommandKey, post: CommandLedger.Post)] = []
        var count = 0
    }

    private static var partBits: Int { 6 }
    /// Until there are more, they stay in one part.
    private static var inOnePartMax: Int { 256 }
    private static var slotsAtFirst: Int { 8 }
    /// Users choose their IDs, and the function from ID to key is public. The factor is not known to them, so that they can't
    /// find keys that share a place (multiply-shift hashing, Dietzfelbinger et al. 1997). No decision depends on it.
    private static let factor = UInt64(bitPattern: Int64(Hasher().finalize())) | 1

    private var parts: [Part] = []
    private(set) var count = 0

    init() {}

    /// All bits of the key count for the upper bits of this.
    private static func hash(_ key: CommandKey) -> UInt64 {
        let product = key.low.multipliedFullWidth(by: factor)
        return (product.high ^ product.low ^ key.high) &* factor
    }

    private func part(of hash: UInt64) -> Int { parts.count == 1 ? 0 : Int(hash >> (64 - UInt64(Self.partBits))) }

    /// The slot that has the key, or the free one where it would go: there is one, as a quarter is free.
    private static func slot(of key: CommandKey, _ hash: UInt64, in part: Part) -> Int {
        let mask = part.slots.count - 1
        let first = Int(truncatingIfNeeded: hash >> 24)
        for step in 0...mask {
            let slot = (first &+ step) & mask
            if part.slots[slot].post.seq == 0 || part.slots[slot].key == key { return slot }
        }
        preconditionFailure("a part of a table is full")
    }

    subscript(key: CommandKey) -> CommandLedger.Post? {
        guard !parts.isEmpty else { return nil }
        let hash = Self.hash(key)
        let part = part(of: hash)
        guard parts[part].count > 0 else { return nil }
        let post = parts[part].slots[Self.slot(of: key, hash, in: parts[part])].post
        return post.seq == 0 ? nil : post
    }

    /// All of them, in no particular order.
    var entries: some Sequence<(key: CommandKey, post: CommandLedger.Post)> {
        parts.lazy.flatMap(\.slots).filter { $0.post.seq != 0 }
    }

    /// Takes the place of a former post of the same key. A post without a seq is ignored.
    mutating func set(_ post: CommandLedger.Post, of key: CommandKey) {
        guard post.seq > 0 else { return }
        makeRoom()
        let hash = Self.hash(key)
        let part = part(of: hash)
        if Self.put((key, post), hash, in: &parts[part]) { count += 1 }
    }

    private mutating func makeRoom() {
        if parts.isEmpty {
            parts = [Part()]
        } else if parts.count == 1, count >= Self.inOnePartMax {
            let all = parts[0].slots
            parts = Array(repeating: Part(), count: 1 << Self.partBits)
            for taken in all where taken.post.seq != 0 {
                let hash = Self.hash(taken.key)
                _ = Self.put(taken, hash, in: &parts[part(of: hash)])
            }
        }
    }

    /// - Returns: whether the key is new.
    private static func put(
        _ entry: (key: CommandKey, post: CommandLedger.Post), _ hash: UInt64, in part: inout Part
    ) -> Bool {
        if part.count * 4 >= part.slots.count * 3 { grow(&part) }
        let slot = slot(of: entry.key, hash, in: part)
        let isNew = part.slots[slot].post.seq == 0
        part.slots[slot] = entry
        if isNew { part.count += 1 }
        return isNew
    }

    private static func grow(_ part: inout Part) {
        let old = part.slots
        let free = (CommandKey(high: 0, low: 0), CommandLedger.Post(seq: 0, time: Timestamp(0), priority: nil))
        part.slots = Array(repeating: free, count: max(slotsAtFirst, old.count * 2))
        for taken in old where taken.post.seq != 0 {
            part.slots[slot(of: taken.key, hash(taken.key), in: part)] = taken
        }
    }
}
