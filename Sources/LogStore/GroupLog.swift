import Consensus

/// Where the entries of one group are in the table, and its state: what is committed. Used by the writer thread only.
final class GroupLog {
    /// Nothing of the group has been committed yet.
    var isNew = false
    var state = GroupState()
    private(set) var terms = TermRuns()
    /// Where the entries are that change the group's servers, ascending: whoever restores the log needs all of them.
    private(set) var memberships: [UInt64] = []
    /// Row IDs of the entries after `state.trimmed`, behind `head` rows that are gone.
    private var rows: [Int64] = []
    private var head = 0

    var count: Int { rows.count - head }
    var firstIndex: UInt64 { state.trimmed.index + 1 }
    var lastIndex: UInt64 { state.trimmed.index + UInt64(count) }

    /// The row of an entry; nil when it is not there.
    func row(at index: UInt64) -> Int64? {
        guard index >= firstIndex, index <= lastIndex else { return nil }
        return rows[head + Int(index - firstIndex)]
    }

    /// The term of an entry that is there, or of the last one trimmed.
    func term(at index: UInt64) -> UInt64? {
        if index == state.trimmed.index { return state.trimmed.term }
        guard index >= firstIndex, index <= lastIndex else { return nil }
        return terms.term(at: index)
    }

    func append(row: Int64, index: UInt64, term: UInt64, kind: Entry.Kind) {
        rows.append(row)
        terms.append(index: index, term: term)
        if kind == .membership { memberships.append(index) }
    }

    func append(rows more: [Int64], terms moreTerms: TermRuns, memberships moreMemberships: [UInt64]) {
        rows += more
        terms.append(moreTerms)
        memberships += moreMemberships
    }

    /// Forgets the entries after `index`.
    func removeAll(after index: UInt64) {
        guard index < lastIndex else { return }
        let kept = index < firstIndex ? 0 : Int(index - firstIndex) + 1
        rows.removeSubrange((head + kept)...)
        terms.removeAll(from: index + 1)
        memberships.removeAll { $0 > index }
    }

    /// Forgets the entries up to the new place and returns their rows.
    func trim(to position: LogPosition) -> ArraySlice<Int64> {
        guard position.index > state.trimmed.index else { return [] }
        let gone = Int(min(UInt64(count), position.index - state.trimmed.index))
        let removed = rows[head..<(head + gone)]
        head += gone
        terms.removeAll(through: position.index)
        memberships.removeAll { $0 <= position.index }
        if head == rows.count { terms = TermRuns() }
        state.trimmed = position
        if head > 4096, head > rows.count / 2 {
            rows.removeFirst(head)
            head = 0
        }
        return removed
    }
}
