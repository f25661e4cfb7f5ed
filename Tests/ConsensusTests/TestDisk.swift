@testable import Consensus

/// A store for one group that keeps only what was synced.
struct TestDisk {
    private(set) var hardState = HardState()
    private(set) var snapshot: SnapshotMark?
    private(set) var entries: [Entry] = []

    /// The save becomes durable.
    mutating func write(_ save: RaftOutput.Save) {
        if let hardState = save.hardState { self.hardState = hardState }
        if let snapshot = save.snapshot { self.snapshot = snapshot }
        if save.replacesLog { entries = [] }
        if let from = save.truncateFrom { entries.removeAll { $0.index >= from } }
        if let first = save.entries.first, let last = entries.last {
            precondition(first.index == last.index + 1, "a save must continue the log")
        }
        entries.append(contentsOf: save.entries)
    }

    mutating func trim(upTo index: UInt64) { entries.removeAll { $0.index <= index } }

    /// A disk that breaks its promise; for the checkers' own tests.
    mutating func loseEntries(after index: UInt64) { entries.removeAll { $0.index > index } }

    var lastIndex: UInt64 { entries.last?.index ?? snapshot?.index ?? 0 }

    /// Whether the log up to `index` is here, or was replaced by a snapshot.
    func reaches(_ index: UInt64) -> Bool { max(lastIndex, snapshot?.index ?? 0) >= index }

    func read(_ range: ClosedRange<UInt64>, bytesMax: Int) -> [Entry] {
        var bytes = 0
        var found: [Entry] = []
        for entry in entries where range.contains(entry.index) {
            bytes += RaftLog.bytes(of: entry)
            if bytes > bytesMax, !found.isEmpty { break }
            found.append(entry)
        }
        return found.first?.index == range.lowerBound ? found : []
    }

    func restored(appliedIndex: UInt64, snapshot: SnapshotMark? = nil, recentBytesMax: Int = 1 << 20) -> RestoredLog {
        var log = RestoredLog(
            hardState: hardState, snapshot: snapshot ?? self.snapshot, appliedIndex: appliedIndex,
            recentBytesMax: recentBytesMax)
        for entry in entries { log.append(entry) }
        return log
    }
}
