import ChatModel
import SQLite

/// A reading connection to one day's history. Used by one reader thread only.
final class DayReader {
    let database: Database
    private let bound: Statement
    private let last: Statement
    private var scans: [Scan: Statement] = [:]
    private let one: Statement
    private let state: Statement
    private let copies: Statement

    /// The columns of each row that are read.
    enum Columns: String, CaseIterable {
        case all = "seq, log_index, time, type, recalled, command_high, command_low, sender, payload"
        /// The payload is then empty: its pages are not read.
        case withoutPayload = "seq, log_index, time, type, recalled, command_high, command_low, sender, NULL"
    }

    private struct Scan: Hashable {
        var order: HistoryQuery.Order
        var columns: Columns
    }

    init(path: String, vfs: String?) throws(SQLiteError) {
        var options = DatabaseOptions()
        options.readOnly = true
        // Only the writing connection may checkpoint (see `DatabaseOptions.checkpointPages`).
        options.leavesWriteAheadLogOnClose = true
        options.busyTimeoutMilliseconds = 1_000
        options.cacheKilobytes = 256
        options.vfs = vfs
        let database = try Database(path: path, options: options)
        do throws(SQLiteError) {
            self.database = database
            bound = try database.prepare(
                "SELECT seq, time FROM message WHERE incarnation = ? AND seq >= ? ORDER BY seq LIMIT 1")
            last = try database.prepare("SELECT seq FROM message WHERE incarnation = ? ORDER BY seq DESC LIMIT 1")
            for order in HistoryQuery.Order.allCases {
                for columns in Columns.allCases {
                    scans[Scan(order: order, columns: columns)] = try database.prepare(
                        """
                        SELECT \(columns.rawValue) FROM message WHERE incarnation = ? AND seq BETWEEN ? AND ?
                        ORDER BY seq \(order == .ascending ? "ASC" : "DESC")
                        """)
                }
            }
            one = try database.prepare("SELECT \(Columns.all.rawValue) FROM message WHERE incarnation = ? AND seq = ?")
            state = try database.prepare("SELECT time, recalled FROM message WHERE incarnation = ? AND seq = ?")
            copies = try database.prepare("SELECT payload FROM copies WHERE incarnation = ? AND seq = ?")
        } catch {
            database.close()
            throw error
        }
    }

    func close() { database.close() }

    /// The first seq of a row at or after `time`; one after the last seq when all rows are older. Found by halving,
    /// since times do not fall while seqs grow.
    func firstSeq(_ incarnation: Incarnation, atOrAfter time: Timestamp) throws(SQLiteError) -> Int64 {
        last.bind(bits: incarnation.number, 1)
        guard try last.step() else { return 0 }
        var high = last.int64(0).addingReportingOverflow(1).partialValue
        last.reset()
        var low: Int64 = 0
        bound.bind(bits: incarnation.number, 1)
        defer { bound.reset() }
        while low < high {
            let middle = low + (high - low) / 2
            bound.reset()
            bound.bind(2, middle)
            guard try bound.step() else { return high }
            if bound.int64(1) >= time.milliseconds { high = middle } else { low = bound.int64(0) + 1 }
        }
        return low
    }

    /// Walks over rows with seqs in `range` until `visit` returns false. Returns whether it has seen all of them.
    func scan(
        _ incarnation: Incarnation, _ range: ClosedRange<Int64>, in order: HistoryQuery.Order, columns: Columns,
        _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        guard let statement = scans[Scan(order: order, columns: columns)] else { return true }
        statement.bind(bits: incarnation.number, 1)
        statement.bind(2, range.lowerBound)
        statement.bind(3, range.upperBound)
        defer { statement.reset() }
        while try statement.step() {
            guard try visit(RowView(statement: statement, incarnation: incarnation, reader: self)) else { return false }
        }
        return true
    }

    func row(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> HistoryRow? {
        one.bind(bits: incarnation.number, 1)
        one.bind(2, seq)
        defer { one.reset() }
        return try one.step() ? RowView(statement: one, incarnation: incarnation, reader: self).row : nil
    }

    /// Whether a message is recalled, and its time; nil when there is none.
    func state(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> (time: Timestamp, recalled: Bool)? {
        state.bind(bits: incarnation.number, 1)
        state.bind(2, seq)
        defer { state.reset() }
        return try state.step() ? (Timestamp(state.int64(0)), state.int64(1) != 0) : nil
    }

    /// The further content of a message; nil when there is none.
    func copies(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> [UInt8]? {
        copies.bind(bits: incarnation.number, 1)
        copies.bind(2, seq)
        defer { copies.reset() }
        return try copies.step() ? copies.bytes(0) : nil
    }
}

/// The row under a statement's cursor, read column by column as needed.
struct RowView {
    fileprivate let statement: Statement
    let incarnation: Incarnation
    private let reader: DayReader

    fileprivate init(statement: Statement, incarnation: Incarnation, reader: DayReader) {
        self.statement = statement
        self.incarnation = incarnation
        self.reader = reader
    }

    /// The row with its payload, where the walk is one without.
    func whole() throws(SQLiteError) -> HistoryRow? { try reader.row(incarnation, seq: seq) }

    var seq: Int64 { statement.int64(0) }
    var index: UInt64 { UInt64(clamping: statement.int64(1)) }
    var time: Timestamp { Timestamp(statement.int64(2)) }
    var type: Int { Int(statement.int64(3)) }
    var sender: String? { statement.optionalText(7) }

    var command: CommandKey? {
        statement.isNull(5) ? nil : CommandKey(high: statement.bits(5), low: statement.bits(6))
    }

    var row: HistoryRow {
        HistoryRow(
            incarnation: incarnation, seq: UInt64(clamping: seq), index: index,
            time: time, type: type, sender: sender, command: command, payload: statement.bytes(8),
            recalled: statement.int64(4) != 0)
    }
}
