import ChatModel
import SQLite

/// Reading a day from one end to the other.
extension DayReader {
    /// No log entry after this one has changed anything in the file.
    func lastIndex() throws(SQLiteError) -> UInt64 {
        let meta = try database.cached("SELECT applied FROM meta")
        defer { meta.reset() }
        return try meta.step() ? meta.bits(0) : 0
    }

    /// The time of the newest message; nil when there is none.
    func lastTime() throws(SQLiteError) -> Timestamp? {
        let meta = try database.cached("SELECT last_time FROM meta")
        defer { meta.reset() }
        return try meta.step() ? meta.optionalInt64(0).map { Timestamp($0) } : nil
    }

    /// Walks over messages and then tombstones behind `cursor` until `visit` returns false, at most `rowsMax` of them;
    /// those that were not changed after `changedAfter` are shown as a place without a record. Returns whether it has
    /// seen all of them.
    func records(
        after cursor: HistoryCursor?, changedAfter: UInt64, rowsMax: Int,
        _ visit: (HistoryCursor, HistoryRecord?) -> Bool
    ) throws(SQLiteError) -> Bool {
        var rowsLeft = rowsMax
        if cursor?.table != .tombstones {
            let messages = try statement(
                """
                SELECT incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender,
                    CASE WHEN log_index > ?3 THEN payload END,
                    CASE WHEN log_index > ?3 THEN (SELECT copies.payload FROM copies
                        WHERE copies.incarnation = message.incarnation AND copies.seq = message.seq) END
                FROM message WHERE (incarnation, seq) > (?1, ?2) ORDER BY incarnation, seq
                """, cursor)
            // Only the beginnings of unwanted rows are read.
            messages.bind(3, Int64(clamping: changedAfter))
            let place =
                cursor.map {
                    Place(life: Int64(bitPattern: $0.incarnation.number), seq: Int64(clamping: $0.seq))
                } ?? .start
            let isWhole = try walk(
                messages, { $0.walk(after: place) }, in: .ascending, isWanted: { $0 > place }
            ) { (view) throws(SQLiteError) in
                guard rowsLeft > 0 else { return false }
                rowsLeft -= 1
                let record = view.index > changedAfter ? HistoryRecord(row: try whole(view)) : nil
                return visit(HistoryCursor(.messages, view.incarnation, seq: UInt64(clamping: view.seq)), record)
            }
            guard isWhole else { return false }
        }
        let tombstones = try statement(
            """
            SELECT incarnation, seq, log_index, replacement FROM tombstone
            WHERE (incarnation, seq) > (?, ?) ORDER BY incarnation, seq
            """, cursor?.table == .tombstones ? cursor : nil)
        defer { tombstones.reset() }
        while try tombstones.step() {
            guard rowsLeft > 0 else { return false }
            rowsLeft -= 1
            let isChanged = UInt64(clamping: tombstones.int64(2)) > changedAfter
            let record = isChanged ? HistoryRecord(erasure: erasure(tombstones)) : nil
            let place = HistoryCursor(
                .tombstones, Incarnation(tombstones.bits(0)), seq: UInt64(clamping: tombstones.int64(1)))
            guard visit(place, record) else { return false }
        }
        return true
    }

    private func statement(_ sql: String, _ cursor: HistoryCursor?) throws(SQLiteError) -> Statement {
        let statement = try database.cached(sql)
        if let cursor {
            statement.bind(bits: cursor.incarnation.number, 1)
            statement.bind(2, Int64(clamping: cursor.seq))
        } else {
            statement.bind(1, Int64.min)
            statement.bind(2, Int64(-1))
        }
        return statement
    }

    /// The row with what it holds besides, which rows of blocks do not.
    private func whole(_ view: RowView) throws(SQLiteError) -> HistoryRow {
        var row = try view.row()
        if let statement = view.statement, !statement.isNull(10) { row.copies = statement.bytes(10) }
        return row
    }

    private func erasure(_ statement: Statement) -> Erasure {
        Erasure(
            incarnation: Incarnation(statement.bits(0)), seq: UInt64(clamping: statement.int64(1)), day: 0,
            index: UInt64(clamping: statement.int64(2)),
            replacement: statement.isNull(3) ? nil : statement.bytes(3))
    }
}
