import ChatModel
import SQLite
import Wire

/// Reads the next rows of a day that a replica lacks.
struct HistoryChunkTask: ReadTask {
    let file: HistoryFile
    /// Rows that no later entry has changed are not wanted.
    let changedAfter: UInt64
    /// As of which entry rows are wanted; nil: as they are.
    let notAfter: UInt64?
    let cutoff: Timestamp
    let bytesMax: Int
    let isAmended: @Sendable ([UInt8]) -> Bool
    private let first: HistoryCursor?
    private var cursor: HistoryCursor?
    private var bytes: [UInt8] = []

    init(
        _ file: HistoryFile, after cursor: HistoryCursor?, changedAfter: UInt64, notAfter: UInt64?, cutoff: Timestamp,
        bytesMax: Int, isAmended: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        self.file = file
        first = cursor
        self.cursor = cursor
        self.changedAfter = changedAfter
        self.notAfter = notAfter
        self.cutoff = cutoff
        self.bytesMax = bytesMax
        self.isAmended = isAmended
    }

    mutating func slice(open: FileOpener) throws(SQLiteError) -> HistoryChunk? {
        // The day has expired meanwhile: there is nothing to get any more.
        guard let reader = try open(file) else { return chunk(next: nil) }
        var (bytes, cursor, isFull) = (bytes, cursor, false)
        let isWhole = try reader.records(after: cursor, changedAfter: changedAfter, rowsMax: ReadSlice.rowsMax) {
            [cutoff, bytesMax, notAfter, isAmended] place, record in
            if let record = record?.asOf(notAfter, isAmended), record.row.map({ $0.time >= cutoff }) ?? true {
                var one: [UInt8] = []
                WireProtobuf.appendDelimited(record, to: &one)
                if !bytes.isEmpty, bytes.count + one.count > bytesMax {
                    isFull = true
                    return false
                }
                bytes += one
            }
            cursor = place
            return true
        }
        (self.bytes, self.cursor) = (bytes, cursor)
        if isWhole { return chunk(next: nil) }
        return isFull ? chunk(next: cursor) : nil
    }

    private func chunk(next: HistoryCursor?) -> HistoryChunk {
        HistoryChunk(day: file.number, after: first, bytes: bytes, next: next)
    }
}

/// Reads until when the files of a shard were changed.
struct ManifestTask: ReadTask {
    private var files: [HistoryFile]
    private var found: [HistoryManifest.Day] = []

    init(files: [HistoryFile]) { self.files = files.sorted(by: >) }

    /// A file at a time.
    mutating func slice(open: FileOpener) throws(SQLiteError) -> HistoryManifest? {
        guard let file = files.popLast() else { return HistoryManifest(days: found) }
        if let index = try open(file)?.lastIndex() {
            found.append(HistoryManifest.Day(day: file.number, lastIndex: index))
        }
        return nil
    }
}

extension HistoryRecord {
    /// The record as of the log entry `index`; nil when it did not exist yet.
    ///
    /// A message changes only by its recall and by being amended, so one that is neither and has a later index is younger. One
    /// that is may be older, and stays as it is now: when it is younger after all, the entry that made it replaces it when it
    /// is applied again.
    fileprivate func asOf(_ index: UInt64?, _ isAmended: ([UInt8]) -> Bool) -> HistoryRecord? {
        guard let index else { return self }
        if let erasure { return erasure.index <= index ? self : nil }
        guard var row, row.index > index else { return self }
        guard row.recalled || isAmended(row.payload) else { return nil }
        row.index = index
        return HistoryRecord(row: row)
    }
}
