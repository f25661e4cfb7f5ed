import ChatModel
import SQLite

/// Reading a day from one end to the other for its index.
extension DayReader {
    /// The place of a row in its file.
    struct Place: Sendable, Hashable {
        var life: Int64
        var seq: Int64

        static let start = Place(life: .min, seq: -1)
    }

    /// Times of rows behind `place`, at most `rowsMax`; the place of the last one, or nil when there are no more.
    func times(after place: Place, rowsMax: Int, _ visit: (Timestamp) -> Void) throws(SQLiteError) -> Place? {
        let rows = try database.cached(
            """
            SELECT incarnation, seq, time FROM message WHERE (incarnation, seq) > (?, ?) ORDER BY incarnation, seq LIMIT ?
            """)
        rows.bind(1, place.life)
        rows.bind(2, place.seq)
        rows.bind(3, rowsMax)
        defer { rows.reset() }
        var (last, count) = (place, 0)
        while try rows.step() {
            (last, count) = (Place(life: rows.int64(0), seq: rows.int64(1)), count + 1)
            visit(Timestamp(rows.int64(2)))
        }
        return count == rowsMax ? last : nil
    }

    /// Rows behind `place` until `visit` returns false, at most `rowsMax`; the place of the last one, or nil when there are
    /// no more.
    func rows(after place: Place, rowsMax: Int, _ visit: (IndexedRow) throws -> Bool) throws -> Place? {
        let rows = try database.cached(
            """
            SELECT incarnation, seq, log_index, time, recalled, payload FROM message WHERE (incarnation, seq) > (?, ?)
            ORDER BY incarnation, seq LIMIT ?
            """)
        rows.bind(1, place.life)
        rows.bind(2, place.seq)
        rows.bind(3, rowsMax)
        defer { rows.reset() }
        var (last, count) = (place, 0)
        while try rows.step() {
            (last, count) = (Place(life: rows.int64(0), seq: rows.int64(1)), count + 1)
            let row = IndexedRow(
                life: Incarnation(rows.bits(0)), seq: UInt64(clamping: last.seq),
                index: UInt64(clamping: rows.int64(2)),
                time: Timestamp(rows.int64(3)), recalled: rows.int64(4) != 0, payload: rows.bytes(5))
            guard try visit(row) else { return last }
        }
        return count == rowsMax ? last : nil
    }

    /// The seqs that a room has in the file, as a range; nil when it has none.
    func seqs(of life: Incarnation) throws(SQLiteError) -> ClosedRange<Int64>? {
        let ends = try database.cached(
            """
            SELECT (SELECT seq FROM message WHERE incarnation = ?1 ORDER BY seq LIMIT 1),
                (SELECT seq FROM message WHERE incarnation = ?1 ORDER BY seq DESC LIMIT 1)
            """)
        ends.bind(bits: life.number, 1)
        defer { ends.reset() }
        guard try ends.step(), let first = ends.optionalInt64(0), let last = ends.optionalInt64(1) else { return nil }
        return first <= last ? first...last : nil
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
