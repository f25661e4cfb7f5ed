import Consensus
import LogStore

extension StoredGroup {
    /// Nothing was ever written for this group.
    var isEmpty: Bool { hardState == HardState() && snapshot == nil && lastIndex == 0 }

    /// The part of the stored log that the core needs. Older entries than `recent` are counted with their terms, and
    /// the core asks for them when it needs them; but those that change the group's servers it must know: without them
    /// it would count the votes of a group that is no more.
    func restoredLog(appliedIndex: UInt64, recentBytesMax: Int) -> RestoredLog {
        let recentBytes = recent.reduce(0) { $0 + $1.payload.count }
        var log = RestoredLog(
            hardState: hardState, snapshot: snapshot, appliedIndex: appliedIndex,
            // Less than what is here, so that none of the older ones is taken for an entry that is here.
            recentBytesMax: min(recentBytesMax, max(1, recentBytes / 2)))
        if lastIndex > 0 {
            let firstRecent = recent.first?.index ?? lastIndex + 1
            var older = memberships[...]
            for index in firstIndex..<max(firstIndex, firstRecent) {
                if let membership = older.first, membership.index == index {
                    log.append(membership)
                    older.removeFirst()
                } else {
                    log.append(Entry(index: index, term: terms.term(at: index) ?? 0, kind: .command, payload: []))
                }
            }
            for entry in recent { log.append(entry) }
        }
        return log
    }
}

extension GroupSave {
    init(_ group: GroupID, _ save: RaftOutput.Save) {
        // The store takes the snapshot first. It replaces the log only when it does not hold the snapshot's last entry;
        // where it does, the entries behind that one must go too. From 1 on would be below what the snapshot covers.
        let cut = save.replacesLog ? save.snapshot.map { $0.index &+ 1 } ?? 1 : save.truncateFrom
        self.init(
            group: group, hardState: save.hardState, snapshot: save.snapshot, truncateFrom: cut, entries: save.entries)
    }
}
