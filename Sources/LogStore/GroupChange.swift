import Consensus

/// The changes of a transaction to a group so far, beside its `GroupLog`: dropped when the transaction fails, so that
/// the store is then as it was, and adopted when it commits.
struct GroupChange {
    private let log: GroupLog
    private(set) var state: GroupState
    /// Entries of `log` after this index are gone.
    private var keptThrough: UInt64
    /// Nothing of `log` is left: a snapshot took its place.
    private var isReset = false
    private var rows: [Int64] = []
    private var terms = TermRuns()
    /// Those of `rows` that change the group's servers.
    private var memberships: [UInt64] = []
    /// Rows that a snapshot has made useless; they are below the trimmed index, so that nobody reads them.
    private var discarded: [Int64] = []
    private(set) var isStateChanged = false
    /// Set when something is taken away or replaced that the log had: up to here it is the same before and after. For
    /// the marks, which must be true whichever of the two a crash leaves.
    private(set) var unchangedThrough: LogPosition?

    init(_ log: GroupLog) {
        self.log = log
        state = log.state
        keptThrough = log.lastIndex
    }

    var lastIndex: UInt64 { keptThrough + UInt64(rows.count) }

    /// The term of an entry that is there, or of the last one trimmed.
    func term(at index: UInt64) -> UInt64? {
        if index == state.trimmed.index { return state.trimmed.term }
        guard index > state.trimmed.index, index <= lastIndex else { return nil }
        return index > keptThrough ? terms.term(at: index) : log.term(at: index)
    }

    mutating func set(_ hardState: HardState) {
        guard state.hardState != hardState else { return }
        state.hardState = hardState
        isStateChanged = true
    }

    mutating func append(_ entry: Entry, row: Int64) {
        rows.append(row)
        terms.append(index: entry.index, term: entry.term)
        if entry.kind == .membership { memberships.append(entry.index) }
    }

    /// Removes the entries from `index` on and returns their rows, to be deleted in this transaction: they must not
    /// come back after a restart.
    mutating func truncate(from index: UInt64) -> [Int64] {
        guard index <= lastIndex, index > state.trimmed.index else { return [] }
        if index > keptThrough {
            let kept = Int(index - keptThrough - 1)
            let removed = Array(rows[kept...])
            rows.removeSubrange(kept...)
            terms.removeAll(from: index)
            memberships.removeAll { $0 >= index }
            return removed
        }
        let removed = (index...keptThrough).compactMap { log.row(at: $0) } + rows
        (rows, terms, memberships) = ([], TermRuns(), [])
        keptThrough = index - 1
        lowerUnchanged(to: LogPosition(index: index - 1, term: log.term(at: index - 1) ?? 0))
        return removed
    }

    private mutating func lowerUnchanged(to position: LogPosition) {
        if let unchangedThrough, unchangedThrough.index <= position.index { return }
        unchangedThrough = position
    }

    /// Takes a snapshot's mark and returns the rows to delete in this transaction.
    mutating func install(_ snapshot: SnapshotMark) -> [Int64] {
        state.snapshot = snapshot
        isStateChanged = true
        // An older snapshot than what was trimmed, or one whose last entry the log holds: the log stays.
        guard snapshot.index > state.trimmed.index, term(at: snapshot.index) != snapshot.term else { return [] }
        let conflicting = snapshot.index < lastIndex ? truncate(from: snapshot.index + 1) : []
        // Any entry may be another one, up to where the old log began: also the one at the snapshot's end.
        if log.lastIndex >= snapshot.index { lowerUnchanged(to: log.state.trimmed) }
        discarded += rows
        (rows, terms, memberships) = ([], TermRuns(), [])
        isReset = true
        keptThrough = snapshot.index
        state.trimmed = LogPosition(index: snapshot.index, term: snapshot.term)
        return conflicting
    }

    /// Gives up entries that were committed before this transaction. Beyond them it trims as far as they go.
    mutating func trim(through index: UInt64) {
        let index = min(index, keptThrough)
        guard !isReset, index > state.trimmed.index, let term = log.term(at: index) else { return }
        state.trimmed = LogPosition(index: index, term: term)
        isStateChanged = true
    }

    /// The transaction has committed. Returns rows to delete when there is time.
    func adopt() -> [Int64] {
        var useless = discarded
        if isReset {
            useless += log.trim(to: LogPosition(index: max(log.lastIndex, log.state.trimmed.index), term: 0))
        } else {
            log.removeAll(after: keptThrough)
            useless += log.trim(to: state.trimmed)
        }
        log.state = state
        log.append(rows: rows, terms: terms, memberships: memberships)
        return useless
    }
}
