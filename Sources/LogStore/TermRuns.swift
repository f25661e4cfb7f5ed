/// The terms of consecutive entries. Terms change seldom, so one element stands for many entries.
public struct TermRuns: Sendable, Hashable {
    /// Entries from `first` up to the next run are of `term`.
    public struct Run: Sendable, Hashable {
        public var first: UInt64
        public var term: UInt64
    }

    /// Ascending in `first`.
    public private(set) var runs: [Run] = []

    public init() {}

    /// The term of the entry at `index`, which must not be after the last entry; nil before the first one.
    public func term(at index: UInt64) -> UInt64? {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].first <= index { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : runs[low - 1].term
    }

    mutating func append(index: UInt64, term: UInt64) {
        if runs.last?.term != term { runs.append(Run(first: index, term: term)) }
    }

    /// Adds the runs of entries that follow.
    mutating func append(_ other: TermRuns) {
        for run in other.runs { append(index: run.first, term: run.term) }
    }

    mutating func removeAll(from index: UInt64) {
        while let last = runs.last, last.first >= index { runs.removeLast() }
    }

    mutating func removeAll(through index: UInt64) {
        let gone = runs.dropFirst().prefix { $0.first <= index &+ 1 }.count
        runs.removeFirst(gone)
        if let first = runs.first, first.first <= index { runs[0].first = index &+ 1 }
    }
}
