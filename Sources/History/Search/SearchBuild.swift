import ChatModel
import SQLite

/// The making of an index from its day file, or the completion of one that lacks something.
struct SearchBuild {
    private enum Stage {
        /// Counts the rows of each minute by their weight, for the blocks of a new index.
        case counting(DayReader.Place, [Int64: Int64])
        case indexing(DayReader.Place)
    }

    /// The day file's log entry when it began.
    let lastIndex: UInt64
    private var stage: Stage
    private var waiting: [SearchIndexFile.Entry] = []
    private var waitingBytes = 0
    private let isNew: Bool

    private static let countedMax = 20_000
    /// Few enough that a reading connection does not hold up a checkpoint.
    private static let rowsMax = 512
    private static let minute: Int64 = 60_000

    init(isNew: Bool, lastIndex: UInt64) {
        self.lastIndex = lastIndex
        self.isNew = isNew
        stage = isNew ? .counting(.start, [:]) : .indexing(.start)
    }

    /// Does a bounded part of it; true when the index is complete.
    mutating func step(
        _ reader: DayReader, _ index: SearchIndexFile,
        _ entry: (IndexedRow) -> SearchIndexFile.Entry
    ) throws -> Bool {
        switch stage {
        case .counting(let place, var counts):
            let next = try reader.times(after: place, rowsMax: Self.countedMax) { time, bytes in
                counts[time.milliseconds / Self.minute, default: 0] += SearchIndexFile.weight(bytes: bytes)
            }
            if let next {
                stage = .counting(next, counts)
            } else {
                try index.plan(counts.map { ($0.key * Self.minute, $0.value) })
                stage = .indexing(.start)
            }
            return false
        case .indexing(let place):
            let next = try reader.rows(after: place, rowsMax: Self.rowsMax) { row in
                if !isNew, try index.has(row.life, seq: row.seq, index: row.index, time: row.time) { return true }
                let made = entry(row)
                // A row that has nothing to find may have had it before.
                guard !isNew || !made.text.isEmpty else { return true }
                waiting.append(made)
                waitingBytes += 64 + made.text.utf8.count
                return waitingBytes < SearchIndexer.bytesMax
            }
            // Rows of all blocks come together, so that each block gets few parts.
            if waitingBytes >= SearchIndexer.bytesMax || next == nil {
                try index.put(waiting, applied: next == nil ? lastIndex : nil)
                (waiting, waitingBytes) = ([], 0)
            }
            guard let next else { return true }
            stage = .indexing(next)
            return false
        }
    }
}
