import Consensus

/// The places of one group's entries, and its state, as they are committed. Used by the writer thread only.
final class GroupEntries {
    /// Nothing of the group has been committed yet.
    var isNew = false
    var state = GroupState()
    private(set) var terms = TermRuns()
    /// Where the entries are that change the group's servers, ascending: whoever restores the log needs all of them.
    private(set) var memberships: [UInt64] = []
    /// Places of the entries after `state.trimmed`, behind `head` places that are gone.
    private var places: [EntryPlace] = []
    private var head = 0

    var count: Int { places.count - head }
    var firstIndex: UInt64 { state.trimmed.index + 1 }
    var lastIndex: UInt64 { state.trimmed.index + UInt64(count) }

    /// The places of all entries.
    var allPlaces: ArraySlice<EntryPlace> { places[head...] }

    /// The place of an entry; nil when it is not there.
    func place(of index: UInt64) -> EntryPlace? {
        guard index >= firstIndex, index <= lastIndex else { return nil }
        return places[head + Int(index - firstIndex)]
    }

    /// The term of an entry that is there, or of the last one trimmed.
    func term(at index: UInt64) -> UInt64? {
        if index == state.trimmed.index { return state.trimmed.term }
        guard index >= firstIndex, index <= lastIndex else { return nil }
        return terms.term(at: index)
    }

    func append(_ place: EntryPlace, index: UInt64, term: UInt64, kind: Entry.Kind) {
        places.append(place)
        terms.append(index: index, term: term)
        if kind == .membership { memberships.append(index) }
    }

    func append(_ more: [EntryPlace], terms moreTerms: TermRuns, memberships moreMemberships: [UInt64]) {
        places += more
        terms.append(moreTerms)
        memberships += moreMemberships
    }

    /// An entry that is there has been copied. Returns where it was.
    func move(_ index: UInt64, to place: EntryPlace) -> EntryPlace {
        let position = head + Int(index - firstIndex)
        defer { places[position] = place }
        return places[position]
    }

    /// Forgets the entries after `index` and returns their places.
    func removeAll(after index: UInt64) -> [EntryPlace] {
        guard index < lastIndex else { return [] }
        let kept = index < firstIndex ? 0 : Int(index - firstIndex) + 1
        let removed = Array(places[(head + kept)...])
        places.removeSubrange((head + kept)...)
        terms.removeAll(from: index + 1)
        memberships.removeAll { $0 > index }
        return removed
    }

    /// Forgets the entries up to the new place and returns where they were.
    func trim(to position: LogPosition) -> ArraySlice<EntryPlace> {
        guard position.index > state.trimmed.index else { return [] }
        let gone = Int(min(UInt64(count), position.index - state.trimmed.index))
        let removed = places[head..<(head + gone)]
        head += gone
        terms.removeAll(through: position.index)
        memberships.removeAll { $0 <= position.index }
        if head == places.count { terms = TermRuns() }
        state.trimmed = position
        if head > 4096, head > places.count / 2 {
            places.removeFirst(head)
            head = 0
        }
        return removed
    }
}
