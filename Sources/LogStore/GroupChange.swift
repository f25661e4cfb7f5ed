import Consensus

/// The changes of a transaction to a group so far, beside its `GroupEntries`: dropped when the transaction fails, so that
/// the store is then as it was, and adopted when it commits.
struct GroupChange {
    private let log: GroupEntries
    private(set) var state: GroupState
    /// Entries of `log` after this index are gone.
    private(set) var keptThrough: UInt64
    /// Nothing of `log` is left: a snapshot took its place.
    private(set) var isReset = false
    /// Entries behind `keptThrough`.
    private(set) var entries: [Entry] = []
    /// The places to which these have been written.
    var places: [EntryPlace] = []
    /// Entries of `log` that must not come back after a restart.
    private(set) var removed: [EntryPlace] = []
    private(set) var isStateChanged = false
    /// Set when something is taken away or replaced that the log had: up to here it is the same before and after. For
    /// the marks, which must be true whichever of the two a crash leaves.
    private(set) var unchangedThrough: LogPosition?

    init(_ log: GroupEntries) {
        self.log = log
        state = log.state
        keptThrough = log.lastIndex
    }

    var isNew: Bool { log.isNew }
    /// There is something to make durable.
    var isAny: Bool { isStateChanged || isNew || isReset || isCut || !entries.isEmpty }
    var lastIndex: UInt64 { keptThrough + UInt64(entries.count) }
    /// Entries of `log` are gone that it had at its end, and those before them are not.
    var isCut: Bool { !isReset && keptThrough < log.lastIndex }

    /// The term of an entry that is there, or of the last one trimmed.
    func term(at index: UInt64) -> UInt64? {
        if index == state.trimmed.index { return state.trimmed.term }
        guard index > state.trimmed.index, index <= lastIndex else { return nil }
        return index > keptThrough ? entries[Int(index - keptThrough - 1)].term : log.term(at: index)
    }

    mutating func set(_ hardState: HardState) {
        guard state.hardState != hardState else { return }
        state.hardState = hardState
        isStateChanged = true
    }

    mutating func append(_ more: [Entry]) { entries += more }

    /// Removes the entries from `index` on.
    mutating func truncate(from index: UInt64) {
        guard index <= lastIndex, index > state.trimmed.index else { return }
        if index > keptThrough {
            entries.removeSubrange(Int(index - keptThrough - 1)...)
            return
        }
        removed += (index...keptThrough).compactMap { log.place(of: $0) }
        entries = []
        keptThrough = index - 1
        lowerUnchanged(to: LogPosition(index: index - 1, term: log.term(at: index - 1) ?? 0))
    }

    private mutating func lowerUnchanged(to position: LogPosition) {
        if let unchangedThrough, unchangedThrough.index <= position.index { return }
        unchangedThrough = position
    }

    /// Takes a snapshot's mark.
    mutating func install(_ snapshot: SnapshotMark) {
        state.snapshot = snapshot
        isStateChanged = true
        // An older snapshot than what was trimmed, or one whose last entry the log holds: the log stays.
        guard snapshot.index > state.trimmed.index, term(at: snapshot.index) != snapshot.term else { return }
        if snapshot.index < lastIndex { truncate(from: snapshot.index + 1) }
        // Any entry may be another one, up to where the old log began: also the one at the snapshot's end.
        if log.lastIndex >= snapshot.index { lowerUnchanged(to: log.state.trimmed) }
        entries = []
        isReset = true
        keptThrough = snapshot.index
        state.trimmed = LogPosition(index: snapshot.index, term: snapshot.term)
    }

    /// Gives up entries that were committed before this transaction. Beyond them it trims as far as they go.
    mutating func trim(through index: UInt64) {
        let index = min(index, keptThrough)
        guard !isReset, index > state.trimmed.index, let term = log.term(at: index) else { return }
        state.trimmed = LogPosition(index: index, term: term)
        isStateChanged = true
    }

    /// Whether an entry of `log` is still there afterwards.
    func keeps(_ index: UInt64) -> Bool { !isReset && index <= keptThrough && index > state.trimmed.index }

    /// The transaction has committed. Returns where entries were that are gone: those that were cut off, and others.
    func adopt() -> (cut: [EntryPlace], trimmed: [EntryPlace]) {
        var cut: [EntryPlace] = []
        let trimmed: ArraySlice<EntryPlace>
        if isReset {
            trimmed = log.trim(to: LogPosition(index: max(log.lastIndex, log.state.trimmed.index), term: 0))
        } else {
            cut = log.removeAll(after: keptThrough)
            trimmed = log.trim(to: state.trimmed)
        }
        log.state = state
        var terms = TermRuns()
        var memberships: [UInt64] = []
        for entry in entries {
            terms.append(index: entry.index, term: entry.term)
            if entry.kind == .membership { memberships.append(entry.index) }
        }
        log.append(places, terms: terms, memberships: memberships)
        return (cut, Array(trimmed))
    }
}
