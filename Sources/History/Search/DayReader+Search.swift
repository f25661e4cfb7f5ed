import ChatModel
import SQLite

/// Reading a day from one end to the other for its index.
extension DayReader {
    /// Times of rows behind `place` and the bytes of their payloads, at most `rowsMax`; the place of the last one, or nil when
    /// there are no more.
    func times(
        after place: Place, rowsMax: Int, _ visit: (Timestamp, _ payloadBytes: Int) -> Void
    ) throws(SQLiteError) -> Place? {
        var (last, count) = (place, 0)
        let isWhole = try walk(after: place, .payloadLength) { (row) throws(SQLiteError) in
            guard count < rowsMax else { return false }
            (last, count) = (Place(life: row.life, seq: row.seq), count + 1)
            visit(row.time, row.payloadLength)
            return true
        }
        return isWhole ? nil : last
    }

    /// Rows behind `place` until `visit` returns false, at most `rowsMax`; the place of the last one, or nil when there are
    /// no more.
    func rows(after place: Place, rowsMax: Int, _ visit: (IndexedRow) throws -> Bool) throws -> Place? {
        var (last, count) = (place, 0)
        var failure: (any Error)?
        let isWhole = try walk(after: place, .all) { (view) throws(SQLiteError) in
            guard count < rowsMax else { return false }
            (last, count) = (Place(life: view.life, seq: view.seq), count + 1)
            let row = try view.row()
            do {
                return try visit(
                    IndexedRow(
                        life: row.incarnation, seq: row.seq, index: row.index, time: row.time, recalled: row.recalled,
                        payload: row.payload))
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return isWhole ? nil : last
    }

    private func walk(
        after place: Place, _ columns: Columns, _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        let rows = try database.cached(
            """
            SELECT \(columns.rawValue) FROM message WHERE (incarnation, seq) > (?, ?) ORDER BY incarnation, seq
            """)
        rows.bind(1, place.life)
        rows.bind(2, place.seq)
        return try walk(rows, { $0.walk(after: place) }, in: .ascending, isWanted: { $0 > place }, visit)
    }
}

/// A row of a day file, as far as an index needs it.
struct IndexedRow {
    var life: Incarnation
    var seq: UInt64
    var index: UInt64
    var time: Timestamp
    var recalled: Bool
    var payload: [UInt8]
}
