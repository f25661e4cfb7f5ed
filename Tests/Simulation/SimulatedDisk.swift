import Consensus

/// What of one group's log is on stable storage.
struct SimulatedDisk {
    private(set) var hardState = HardState()
    private(set) var snapshot: SnapshotMark?
    private(set) var entries: [Entry] = []
    private(set) var isNew = true

    mutating func write(_ save: RaftOutput.Save) {
        isNew = false
        if let hardState = save.hardState { self.hardState = hardState }
        if let snapshot = save.snapshot { self.snapshot = snapshot }
        if save.replacesLog { entries = [] }
        if let from = save.truncateFrom { entries.removeAll { $0.index >= from } }
        entries.append(contentsOf: save.entries)
    }

    mutating func trim(upTo index: UInt64) { entries.removeAll { $0.index <= index } }

    /// A disk that breaks its promise.
    mutating func forgetVote() { hardState.votedFor = nil }

    /// Likewise.
    mutating func forgetEntries(_ count: Int) { entries.removeLast(min(count, entries.count)) }

    func read(_ fetch: RaftOutput.Fetch) -> [Entry] {
        guard let first = entries.first?.index, first <= fetch.range.lowerBound else { return [] }
        var bytes = 0
        var found: [Entry] = []
        for entry in entries.dropFirst(Int(fetch.range.lowerBound - first)) {
            bytes += entry.payload.count
            if entry.index > fetch.range.upperBound || (bytes > fetch.bytesMax && !found.isEmpty) { break }
            found.append(entry)
        }
        return found
    }

    func restored(appliedIndex: UInt64, installed: SnapshotMark?) -> RestoredLog {
        // The host's snapshot may be newer than the log, if power failed between the two writes.
        let mark = [snapshot, installed].compactMap { $0 }.max { $0.index < $1.index }
        var log = RestoredLog(
            hardState: hardState, snapshot: mark, appliedIndex: appliedIndex, recentBytesMax: 400)
        for entry in entries { log.append(entry) }
        return log
    }
}
