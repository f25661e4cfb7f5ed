/// A restored log, checked and in the core's form.
struct RestoredContent {
    var log: RaftLog
    var memberships: MembershipHistory
    var appliedIndex: UInt64
    /// The snapshot is newer than the entries, which must go: a crash came between its installation and the save.
    var replacesLog = false

    init(_ restored: RestoredLog) throws(RaftError) {
        func corrupt(_ message: String) -> RaftError { RaftError(.corruptLog, message) }
        guard !restored.isContradictory else { throw corrupt("the entries are not in order") }
        guard restored.hardState.term >= restored.terms.last?.term ?? 0 else {
            throw corrupt("an entry is of a later term than the server")
        }
        let mark = restored.snapshot
        let base = mark ?? SnapshotMark(index: 0, term: 0, membership: GroupMembership(voters: []))
        guard base.term <= restored.hardState.term else { throw corrupt("the snapshot is of a later term") }

        var log = RaftLog(offset: base.index, offsetTerm: base.term, runs: [], lastIndex: base.index, recent: [])
        var entriesAreValid = false
        if restored.firstIndex > 0, restored.lastIndex >= base.index {
            guard restored.firstIndex <= base.index + 1 else { throw corrupt("entries are missing after the snapshot") }
            // The entry at or just before the first one is the log's base; its term must be known.
            let keepsHistory = restored.firstIndex <= base.index
            let whole = RaftLog(
                offset: keepsHistory ? restored.firstIndex : base.index,
                offsetTerm: keepsHistory ? restored.terms.first?.term ?? 0 : base.term,
                runs: restored.terms, lastIndex: restored.lastIndex, recent: restored.recentEntries)
            if whole.term(at: base.index) == base.term {
                log = whole
                entriesAreValid = true
            }
        }
        replacesLog = !entriesAreValid && restored.firstIndex > 0
        if replacesLog, let mark { log.replace(with: mark) }

        memberships = MembershipHistory(index: base.index, membership: base.membership)
        if entriesAreValid {
            for entry in restored.memberships where entry.index > base.index {
                guard let membership = GroupMembership(decoding: entry.payload) else {
                    throw corrupt("the membership at \(entry.index) cannot be read")
                }
                memberships.append(index: entry.index, membership: membership)
            }
        }
        // A snapshot ends at what was applied when it was taken, so the host's own state is at least that far.
        appliedIndex = max(restored.appliedIndex, base.index)
        guard appliedIndex <= log.lastIndex else { throw corrupt("more was applied than the log has") }
        self.log = log
    }
}
