/// Saves that the store has and has not reported, and what waits for them.
///
/// A save's claim ("after me, the log is on disk up to here") is lowered when entries are truncated afterwards, so a
/// late report cannot vouch for entries that replaced the ones it wrote, even if index and term are the same.
struct SaveLedger: Sendable {
    enum Held: Sendable {
        case message(RaftMessage)
        /// Count the own vote and ask for the others', in this term.
        case campaign(term: UInt64, isTransfer: Bool)
    }

    private struct Pending: Sendable {
        let number: UInt64
        var lastIndex: UInt64
    }

    private(set) var lastNumber: UInt64 = 0
    private var pending: [Pending] = []
    private var held: [(number: UInt64, item: Held)] = []
    /// The last save with term or vote in it.
    private var hardStateNumber: UInt64 = 0

    var isIdle: Bool { pending.isEmpty }
    /// Term and vote, as last given to the store, are on disk.
    var isHardStatePersisted: Bool { pending.first.map { $0.number > hardStateNumber } ?? true }

    mutating func begin(lastIndex: UInt64, hasHardState: Bool) -> UInt64 {
        lastNumber += 1
        pending.append(Pending(number: lastNumber, lastIndex: lastIndex))
        if hasHardState { hardStateNumber = lastNumber }
        return lastNumber
    }

    /// Waits for the newest save. There must be one pending.
    mutating func hold(_ item: Held) { held.append((lastNumber, item)) }

    /// Entries after `index` are void.
    mutating func truncated(after index: UInt64) {
        for position in pending.indices where pending[position].lastIndex > index {
            pending[position].lastIndex = index
        }
    }

    /// The save `number` and all before it are on disk. Returns up to where the log then is, and what waited.
    mutating func complete(_ number: UInt64) -> (persistedIndex: UInt64, released: [Held])? {
        let done = pending.prefix { $0.number <= number }
        guard let newest = done.last else { return nil }
        let index = newest.lastIndex
        pending.removeFirst(done.count)
        guard let first = held.first, first.number <= number else { return (index, []) }
        let ready = held.prefix { $0.number <= number }
        let released = ready.map(\.item)
        held.removeFirst(ready.count)
        return (index, released)
    }

    mutating func discardAll() {
        pending.removeAll()
        held.removeAll()
    }
}
