/// The log as the core sees it: the term of every entry that is not compacted, and the entries themselves for a tail
/// (the window). Older entries are on disk only.
struct RaftLog: Sendable {
    /// The size of an entry beside its payload, so that bounds in bytes also bound the number of entries.
    static let entryOverheadBytes = 64

    /// The last entry before the log: compacted, replaced by a snapshot, or 0.
    private(set) var offset: UInt64 = 0
    private(set) var offsetTerm: UInt64 = 0
    private(set) var lastIndex: UInt64 = 0
    /// Entries up to here are in the hands of the store.
    private(set) var handedToStoreIndex: UInt64 = 0
    /// Entries up to here are on disk.
    private(set) var persistedIndex: UInt64 = 0
    /// Where each term begins, ascending. The first may begin at or before `offset`.
    private var runs: [TermRun] = []
    private var window = EntryRing()
    private(set) var windowBytes = 0

    init() {}

    /// All of `runs` ... `lastIndex` is on disk. `recent` ends at `lastIndex` or is empty.
    init(offset: UInt64, offsetTerm: UInt64, runs: [TermRun], lastIndex: UInt64, recent: [Entry]) {
        self.offset = offset
        self.offsetTerm = offsetTerm
        self.runs = runs
        self.lastIndex = lastIndex
        handedToStoreIndex = lastIndex
        persistedIndex = lastIndex
        for entry in recent where entry.index > offset {
            window.append(entry)
            windowBytes += Self.bytes(of: entry)
        }
    }

    static func bytes(of entry: Entry) -> Int { entry.payload.count + entryOverheadBytes }

    static func bytes(of entries: some Sequence<Entry>) -> Int { entries.reduce(0) { $0 + bytes(of: $1) } }

    /// The first entry in memory; `lastIndex + 1` when there is none.
    var windowFirstIndex: UInt64 { lastIndex - UInt64(window.count) + 1 }

    var lastTerm: UInt64 { runs.last?.term ?? offsetTerm }

    /// `nil` for what is compacted or not there.
    func term(at index: UInt64) -> UInt64? {
        if index == offset { return offsetTerm }
        guard index > offset, index <= lastIndex else { return nil }
        if let last = runs.last, index >= last.firstIndex { return last.term }
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].firstIndex <= index { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? runs[low - 1].term : nil
    }

    /// The highest index up to `limit` whose term is at most `term`: where two logs can agree at best (thesis §3.5).
    /// Term 0 when that lies before the log.
    func lastIndex(upTo limit: UInt64, termAtMost term: UInt64) -> (index: UInt64, term: UInt64) {
        let limit = min(limit, lastIndex)
        var candidate = limit
        for run in runs.reversed() where run.firstIndex <= candidate {
            guard candidate > offset else { break }
            if run.term <= term { return (candidate, run.term) }
            candidate = run.firstIndex > 0 ? run.firstIndex - 1 : 0
        }
        if limit >= offset, offsetTerm <= term { return (offset, offsetTerm) }
        return (min(limit, offset > 0 ? offset - 1 : 0), 0)
    }

    /// `entry.index` must be `lastIndex + 1`.
    mutating func append(_ entry: Entry) {
        precondition(entry.index == lastIndex + 1)
        if lastTerm != entry.term || runs.isEmpty { runs.append(TermRun(firstIndex: entry.index, term: entry.term)) }
        window.append(entry)
        windowBytes += Self.bytes(of: entry)
        lastIndex = entry.index
    }

    /// Drops the entries from `index` on; what was on disk of them counts no longer.
    mutating func truncate(from index: UInt64) {
        precondition(index > offset && index <= lastIndex)
        let removed = min(window.count, Int(lastIndex - index + 1))
        for position in (window.count - removed)..<window.count { windowBytes -= Self.bytes(of: window[position]) }
        window.removeLast(removed)
        while let run = runs.last, run.firstIndex >= index { runs.removeLast() }
        lastIndex = index - 1
        handedToStoreIndex = min(handedToStoreIndex, lastIndex)
        persistedIndex = min(persistedIndex, lastIndex)
    }

    /// Forgets the entries up to `index`.
    mutating func compact(upTo index: UInt64) {
        guard index > offset, index <= persistedIndex, let term = term(at: index) else { return }
        if index >= windowFirstIndex { dropFromWindow(Int(index - windowFirstIndex + 1)) }
        offset = index
        offsetTerm = term
        let stale = runs.indices.prefix { $0 + 1 < runs.count && runs[$0 + 1].firstIndex <= index + 1 }
        runs.removeFirst(stale.count)
        if lastIndex == offset { runs.removeAll() }
    }

    /// The log is empty and continues after the mark. Nothing of it is on disk yet.
    mutating func replace(with mark: SnapshotMark) {
        self = RaftLog()
        offset = mark.index
        offsetTerm = mark.term
        lastIndex = mark.index
        handedToStoreIndex = mark.index
    }

    /// Frees memory from the front until `bytesMax` is kept, but nothing after `limit` or that is not on disk.
    mutating func trimWindow(bytesMax: Int, limit: UInt64) {
        guard windowBytes > bytesMax else { return }
        let limit = min(limit, persistedIndex)
        var kept = windowBytes
        var count = 0
        var index = windowFirstIndex
        while kept > bytesMax, index <= limit, count < window.count {
            kept -= Self.bytes(of: window[count])
            count += 1
            index += 1
        }
        dropFromWindow(count)
    }

    /// Entries that the store has not been given.
    mutating func takeEntriesForStore() -> [Entry] {
        guard handedToStoreIndex < lastIndex else { return [] }
        let count = Int(lastIndex - handedToStoreIndex)
        handedToStoreIndex = lastIndex
        return window.slice(from: window.count - count, length: count)
    }

    mutating func persisted(upTo index: UInt64) {
        persistedIndex = max(persistedIndex, min(index, handedToStoreIndex))
    }

    /// From `first` to at most `last`, up to `bytesMax` but at least one; empty unless `first` is in memory.
    func entries(from first: UInt64, through last: UInt64, bytesMax: Int) -> [Entry] {
        let last = min(last, lastIndex)
        guard first >= windowFirstIndex, first <= last else { return [] }
        let start = Int(first - windowFirstIndex)
        let available = Int(last - first + 1)
        var bytes = 0
        var length = 0
        while length < available {
            bytes += Self.bytes(of: window[start + length])
            if bytes > bytesMax, length > 0 { break }
            length += 1
        }
        return window.slice(from: start, length: length)
    }

    private mutating func dropFromWindow(_ count: Int) {
        for position in 0..<count { windowBytes -= Self.bytes(of: window[position]) }
        window.removeFirst(count)
    }
}
