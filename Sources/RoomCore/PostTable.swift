import ChatModel

/// The kept posts of the last 10 minutes by the keys of their commands. Each post looks for itself here, and nearly always
/// in vain: so a look costs a multiplication and one byte, where a dictionary would hash the key, and slots, which are many
/// and in no cache, are looked at only where that byte is right.
///
/// It grows and forgets in independent parts (extendible hashing, Fagin et al. 1979), so that no command pays for more
/// than a part's entries. Posts that are forgotten go when their part is full, or a while later.
struct PostTable: Sendable {
    private struct Slot: Sendable {
        var key: CommandKey
        /// Its `seq` is 0: free. Kept messages count from 1.
        var post: CommandLedger.Post

        static let free = Slot(
            key: CommandKey(high: 0, low: 0), post: CommandLedger.Post(seq: 0, time: Timestamp(0), priority: nil))
    }

    /// Open addressing with linear probing, a power of two of slots, at most three quarters of them taken. Nothing is
    /// removed but by making it anew.
    private struct Part: Sendable {
        var slots: ContiguousArray<Slot> = []
        /// A byte of each slot: 0 where it is free, else `tag` of its key.
        var tags: ContiguousArray<UInt8> = []
        var count = 0
        /// The least time of its posts.
        var oldest = Timestamp(.max)
        /// The hashes of its keys have so many upper bits in common.
        var depth: UInt8 = 0

        init(slots count: Int = 0, depth: UInt8 = 0) {
            slots = ContiguousArray(repeating: Slot.free, count: count)
            tags = ContiguousArray(repeating: 0, count: count)
            self.depth = depth
        }
    }

    private static var slotsMin: Int { 8 }
    /// A part that needs more is split.
    private static var slotsMax: Int { 4_096 }
    /// So many bits of a hash choose the part. With all of them in use, which are 100 million posts, parts grow instead.
    private static var depthMax: UInt8 { 16 }
    /// Posts that are forgotten for so long are removed, though there is place for more.
    private static var removalSeconds: Int64 { 120 }
    /// Users choose their IDs, and the function from ID to key is public. The factor is not known to them, so that they can't
    /// find keys that share a place (multiply-shift hashing, Dietzfelbinger et al. 1997). No decision depends on it.
    private static let factor = UInt64(bitPattern: Int64(Hasher().finalize())) | 1

    /// The numbers of parts by the upper `depth` bits of a hash.
    private var directory: [UInt32] = []
    private var depth: UInt8 = 0
    /// None before the first post.
    private var parts: [Part] = []
    /// Posts that are held, with those that are forgotten and still here.
    private(set) var count = 0
    /// The time of the latest command: a later one comes with no earlier time.
    private var now = Timestamp(.min)
    /// The part that is looked at next for what is forgotten.
    private var next = 0

    init() {}

    /// All bits of the key count for the upper bits of this.
    private static func hash(_ key: CommandKey) -> UInt64 {
        let product = key.low.multipliedFullWidth(by: factor)
        return (product.high ^ product.low ^ key.high) &* factor
    }

    /// The upper bits of a hash; none are 0.
    private static func prefix(_ hash: UInt64, _ depth: UInt8) -> Int { Int((hash >> 1) >> UInt64(63 - depth)) }

    private func part(of hash: UInt64) -> Int { Int(directory[Self.prefix(hash, depth)]) }

    /// Not 0, and of other bits of the hash than the part and the slot.
    private static func tag(_ hash: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: hash >> 16) | 0x80 }

    /// The slot that has the key, or the free one where it would go: there is one, as a quarter is free.
    private static func slot(of key: CommandKey, _ hash: UInt64, in part: borrowing Part) -> Int {
        // Through pointers, because the reference count of the slots is one place in memory more.
        part.tags.withUnsafeBufferPointer { tags in
            part.slots.withUnsafeBufferPointer { slots in
                let mask = tags.count - 1
                let first = Int(truncatingIfNeeded: hash >> 24)
                let tag = tag(hash)
                for step in 0...mask {
                    let slot = (first &+ step) & mask
                    if tags[slot] == 0 || (tags[slot] == tag && slots[slot].key == key) { return slot }
                }
                preconditionFailure("a part of a table is full")
            }
        }
    }

    /// The post of that command, even if it is to be forgotten.
    subscript(key: CommandKey) -> CommandLedger.Post? {
        guard count > 0 else { return nil }
        let hash = Self.hash(key)
        return parts.withUnsafeBufferPointer { parts in
            let index = part(of: hash)
            guard !parts[index].tags.isEmpty else { return nil }
            let slot = Self.slot(of: key, hash, in: parts[index])
            return parts[index].tags[slot] == 0 ? nil : parts[index].slots[slot].post
        }
    }

    /// All of them, in no particular order.
    var entries: some Sequence<(key: CommandKey, post: CommandLedger.Post)> {
        parts.lazy.flatMap(\.slots).filter { $0.post.seq != 0 }.map { ($0.key, $0.post) }
    }

    /// Takes the place of a former post of the same key. A post without a seq is ignored.
    mutating func set(_ post: CommandLedger.Post, of key: CommandKey) {
        guard post.seq > 0 else { return }
        if parts.isEmpty { (directory, parts) = ([0], [Part()]) }
        let hash = Self.hash(key)
        var index = part(of: hash)
        while parts[index].count * 4 >= parts[index].slots.count * 3 {
            makePlace(in: index, splittingAt: hash)
            index = part(of: hash)
        }
        if Self.put(Slot(key: key, post: post), hash, in: &parts[index]) { count += 1 }
    }

    /// Removes what is forgotten for a while from one part, another one each time.
    /// - Parameter time: the command's.
    mutating func prune(at time: Timestamp) {
        now = time
        guard count > 0 else { return }
        if next >= parts.count { next = 0 }
        if CommandLedger.isForgotten(parts[next].oldest.adding(seconds: Self.removalSeconds), at: now) { renew(next) }
        next += 1
        if count == 0 { self = PostTable() }
    }

    // MARK: - Parts

    /// A part is full: it becomes greater or two, unless half of it is forgotten.
    private mutating func makePlace(in index: Int, splittingAt hash: UInt64) {
        let part = parts[index]
        let live = CommandLedger.isForgotten(part.oldest, at: now) ? part.slots.count { isLive($0) } : part.count
        if live * 2 <= part.count, part.count > 0 {
            renew(index)
        } else if part.slots.count < Self.slotsMax || part.depth == Self.depthMax {
            remake(index, slots: max(Self.slotsMin, part.slots.count * 2)) { _ in true }
        } else {
            split(index, hash)
        }
    }

    private func isLive(_ slot: Slot) -> Bool {
        slot.post.seq != 0 && !CommandLedger.isForgotten(slot.post.time, at: now)
    }

    /// Without what is forgotten, and as small as leaves place for some more.
    private mutating func renew(_ index: Int) {
        let live = parts[index].slots.count { isLive($0) }
        var slots = live == 0 ? 0 : Self.slotsMin
        while live * 8 > slots * 5 { slots *= 2 }
        remake(index, slots: slots) { [now] in !CommandLedger.isForgotten($0.post.time, at: now) }
    }

    /// Makes the part anew with those of its posts.
    private mutating func remake(_ index: Int, slots: Int, with isKept: (Slot) -> Bool) {
        let old = parts[index]
        parts[index] = Part(slots: slots, depth: old.depth)
        for taken in old.slots where taken.post.seq != 0 && isKept(taken) {
            _ = Self.put(taken, Self.hash(taken.key), in: &parts[index])
        }
        count += parts[index].count - old.count
    }

    /// Those whose next bit is 1 get a part of their own.
    private mutating func split(_ index: Int, _ hash: UInt64) {
        let old = parts[index]
        if old.depth == depth {
            directory = directory.flatMap { [$0, $0] }
            depth += 1
        }
        let other = parts.count
        func half() -> Part { Part(slots: old.slots.count, depth: old.depth + 1) }
        parts[index] = half()
        parts.append(half())
        // The latter half of the places that name the part.
        let places = 1 << Int(depth - old.depth)
        let first = Self.prefix(hash, depth) & ~(places - 1)
        for place in (first + places / 2)..<(first + places) { directory[place] = UInt32(other) }
        for taken in old.slots where taken.post.seq != 0 {
            let hash = Self.hash(taken.key)
            _ = Self.put(taken, hash, in: &parts[part(of: hash)])
        }
    }

    /// - Returns: whether the key is new.
    private static func put(_ entry: Slot, _ hash: UInt64, in part: inout Part) -> Bool {
        let slot = slot(of: entry.key, hash, in: part)
        let isNew = part.tags[slot] == 0
        part.slots[slot] = entry
        part.tags[slot] = tag(hash)
        part.oldest = min(part.oldest, entry.post.time)
        if isNew { part.count += 1 }
        return isNew
    }
}
