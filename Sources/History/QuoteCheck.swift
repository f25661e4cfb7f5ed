import ChatModel
import SQLite

/// Takes quotes away from rows that are read, where the quoted message was recalled, or is no longer there to tell
/// (PROTOCOL.md, "Replies"). A recall does not look for the replies to its message; whoever reads a reply looks for the
/// message: one look-up by key for each message that a page quotes from outside of itself, mostly in the same day's file.
struct QuoteCheck: Sendable {
    /// Newest first.
    private let files: [HistoryFile]
    private let cutoffs: HistoryCutoffs
    private let quotedSeq: @Sendable ([UInt8]) -> UInt64?
    private let withoutQuote: @Sendable ([UInt8]) -> [UInt8]
    /// Quoted messages that have been looked for: whether each is there with its body.
    private var known: [UInt64: Bool] = [:]
    /// Rows up to here have been checked.
    private var next = 0
    /// Files up to here have been looked at for the next row.
    private var nextFile = 0

    /// - Parameter files: those that there are, in their order.
    init(files: [HistoryFile], cutoffs: HistoryCutoffs, _ configuration: StorageConfiguration) {
        self.files = files.reversed().filter(cutoffs.shows)
        self.cutoffs = cutoffs
        quotedSeq = configuration.quotedSeq
        withoutQuote = configuration.withoutQuote
    }

    /// Checks some of the rows, which are all of one room's life. Returns whether all have been.
    mutating func slice(_ rows: inout [HistoryRow], open: FileOpener) throws(SQLiteError) -> Bool {
        if next == 0 {
            for row in rows { known[row.seq] = !row.recalled }
        }
        var lookupsLeft = ReadSlice.payloadRowsMax
        while next < rows.count {
            let row = rows[next]
            if let seq = quotedSeq(row.payload) {
                if known[seq] == nil {
                    known[seq] = try isThere(seq, before: row, &lookupsLeft, open: open)
                    if known[seq] == nil { return false }
                    nextFile = 0
                }
                if known[seq] != true { rows[next].payload = withoutQuote(row.payload) }
            }
            next += 1
        }
        return true
    }

    /// Nothing is quoted before it was said. nil: not known yet, and no look-ups are left.
    private mutating func isThere(
        _ seq: UInt64, before row: HistoryRow, _ lookupsLeft: inout Int, open: FileOpener
    ) throws(SQLiteError) -> Bool? {
        while nextFile < files.count {
            guard lookupsLeft > 0 else { return nil }
            let file = files[nextFile]
            if file.day <= row.time.day {
                lookupsLeft -= 1
                if let state = try open(file)?.state(row.incarnation, seq: Int64(clamping: seq)) {
                    return !state.recalled && state.time >= cutoffs.of(file.life)
                }
            }
            nextFile += 1
        }
        return false
    }
}
