/// Entries in a ring that grows by doubling: O(1) at both ends, and a removed entry frees its payload.
struct EntryRing: Sendable {
    private static let vacant = Entry(index: 0, term: 0, kind: .empty, payload: [])

    private var storage: ContiguousArray<Entry> = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// `offset` counts from the front and must be below `count`.
    subscript(offset: Int) -> Entry {
        precondition(offset >= 0 && offset < count)
        return storage[(head + offset) & (storage.count - 1)]
    }

    mutating func append(_ entry: Entry) {
        if count == storage.count { grow() }
        storage[(head + count) & (storage.count - 1)] = entry
        count += 1
    }

    mutating func removeFirst(_ removed: Int) {
        precondition(removed >= 0 && removed <= count)
        for _ in 0..<removed {
            storage[head] = Self.vacant
            head = (head + 1) & (storage.count - 1)
        }
        count -= removed
    }

    mutating func removeLast(_ removed: Int) {
        precondition(removed >= 0 && removed <= count)
        for _ in 0..<removed {
            count -= 1
            storage[(head + count) & (storage.count - 1)] = Self.vacant
        }
    }

    mutating func removeAll() { self = EntryRing() }

    /// A copy of `length` entries from `offset` on; the payloads are shared.
    func slice(from offset: Int, length: Int) -> [Entry] {
        precondition(offset >= 0 && length >= 0 && offset + length <= count)
        guard length > 0 else { return [] }
        let start = (head + offset) & (storage.count - 1)
        let straight = min(length, storage.count - start)
        if straight == length { return Array(storage[start..<(start + length)]) }
        var entries: [Entry] = []
        entries.reserveCapacity(length)
        entries.append(contentsOf: storage[start...])
        entries.append(contentsOf: storage[..<(length - straight)])
        return entries
    }

    private mutating func grow() {
        let capacity = max(16, storage.count * 2)
        var grown: ContiguousArray<Entry> = []
        grown.reserveCapacity(capacity)
        for offset in 0..<count { grown.append(storage[(head + offset) & (storage.count - 1)]) }
        grown.append(contentsOf: repeatElement(Self.vacant, count: capacity - count))
        storage = grown
        head = 0
    }
}
