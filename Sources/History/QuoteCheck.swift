import ChatModel
import SQLite

/// Takes quotes away from rows that are read, where the quoted message was recalled, or is no longer there to tell
/// (PROTOCOL.md, "Replies"). A recall does not look for the replies to its message; whoever reads a reply looks for the
/// message: one look-up by key for each message that a page quotes from outside of itself, mostly in the same day's file.
struct QuoteCheck: Sendable {
    /// The days that have files, newest first.
    private let days: [Int64]
    private let cutoff: Timestamp
    private let quotedSeq: @Sendable ([UInt8]) -> UInt64?
    private let withoutQuote: @Sendable ([UInt8]) -> [UInt8]
    /// Quoted messages that have been looked for: whether each is there with its body.
    private var known: [UInt64: Bool] = [:]
    /// Rows up to here have been checked.
    private var next = 0

    init(days: [Int64], cutoff: Timestamp, _ configuration: StorageConfiguration) {
        self.days = days.filter { $0 >= cutoff.day }.sorted(by: >)
        self.cutoff = cutoff
        quotedSeq = configuration.quotedSeq
        withoutQuote = configuration.withoutQuote
    }

    /// Checks some of the rows, which are all of one room's life. Returns whether all have been.
    mutating func slice(_ rows: inout [HistoryRow], open: DayOpener) throws(SQLiteError) -> Bool {
        if next == 0 {
            for row in rows { known[row.seq] = !row.recalled }
        }
        var lookupsLeft = ReadSlice.payloadRowsMax
        while next < rows.count {
            let row = rows[next]
            if let seq = quotedSeq(row.payload) {
                if known[seq] == nil {
                    guard lookupsLeft > 0 else { return false }
                    lookupsLeft -= 1
                    known[seq] = try isThere(seq, before: row, open: open)
                }
                if known[seq] != true { rows[next].payload = withoutQuote(row.payload) }
            }
            next += 1
        }
        return true
    }

    /// Nothing is quoted before it was said.
    private func isThere(_ seq: UInt64, before row: HistoryRow, open: DayOpener) throws(SQLiteError) -> Bool {
        for day in days where day <= row.time.day {
            guard let state = try open(day)?.state(row.incarnation, seq: Int64(clamping: seq)) else { continue }
            return !state.recalled && state.time >= cutoff
        }
        return false
    }
}
