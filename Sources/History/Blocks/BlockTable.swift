import ChatModel
import SQLite

/// The table of blocks of one day's file, for its writing connection: rows of one room's life that were written together
/// share a row of the file. That costs a fraction of a row each.
///
/// Two things hold at all times: blocks of a life do not overlap, and no row of its own has a seq between the first and the
/// last one of a block. So a walk in the order of seqs shows the one or the other as a whole. A row of a block never changes
/// there: all of its block become rows of their own before, once.
struct BlockTable {
    static let schema = """
        CREATE TABLE block (
            id INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
            heads BLOB NOT NULL, payloads BLOB NOT NULL);
        CREATE UNIQUE INDEX block_place ON block (incarnation, first, last);
        """

    /// One that overlaps with seqs that are to be written.
    struct Found {
        var id: Int64
        var heads: BlockHeads
    }

    private let find: Statement
    private let payloads: Statement
    private let insert: Statement
    private let delete: Statement
    private let isTaken: Statement
    private let isBuried: Statement
    /// There has been one: until then nobody looks for any.
    private(set) var hasSome: Bool

    /// nil: the file is of a format that has none.
    init?(_ database: Database) throws(SQLiteError) {
        guard try Self.isThere(in: database) else { return nil }
        // The last one that begins before the end: blocks do not overlap.
        find = try database.prepare(
            """
            SELECT id, first, last, heads FROM block WHERE incarnation = ? AND first <= ? ORDER BY first DESC LIMIT 1
            """)
        payloads = try database.prepare("SELECT payloads FROM block WHERE id = ?")
        insert = try database.prepare(
            "INSERT INTO block (incarnation, first, last, heads, payloads) VALUES (?, ?, ?, ?, ?)")
        delete = try database.prepare("DELETE FROM block WHERE id = ?")
        isTaken = try database.prepare(
            "SELECT 1 FROM message WHERE incarnation = ? AND seq BETWEEN ? AND ? LIMIT 1")
        isBuried = try database.prepare(
            "SELECT 1 FROM tombstone WHERE incarnation = ? AND seq BETWEEN ? AND ? LIMIT 1")
        let some = try database.prepare("SELECT 1 FROM block LIMIT 1")
        hasSome = try some.step()
        some.reset()
    }

    static func isThere(in database: Database) throws(SQLiteError) -> Bool {
        let table = try database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'block'")
        defer { table.reset() }
        return try table.step()
    }

    /// The last block that has a seq between these, or reaches over them.
    func last(of incarnation: Incarnation, in seqs: ClosedRange<UInt64>) throws(SQLiteError) -> Found? {
        guard hasSome else { return nil }
        find.bind(bits: incarnation.number, 1)
        find.bind(2, Int64(clamping: seqs.upperBound))
        guard try find.step() else { return nil }
        defer { find.reset() }
        let last = find.int64(2)
        guard last >= Int64(clamping: seqs.lowerBound) else { return nil }
        return Found(
            id: find.int64(0), heads: try BlockHeads(decoding: find.bytes(3), from: find.int64(1), through: last))
    }

    /// Whether rows of these seqs may become a block: none of them is there as a row of its own, or was recalled before it came.
    func isFree(_ incarnation: Incarnation, _ seqs: ClosedRange<UInt64>, tombstones: Int64) throws(SQLiteError) -> Bool
    {
        for statement in tombstones > 0 ? [isTaken, isBuried] : [isTaken] {
            statement.bind(bits: incarnation.number, 1)
            statement.bind(2, Int64(clamping: seqs.lowerBound))
            statement.bind(3, Int64(clamping: seqs.upperBound))
            let isThere = try statement.step()
            statement.reset()
            if isThere { return false }
        }
        return true
    }

    mutating func put(_ block: BlockBuilder, of incarnation: Incarnation) throws(SQLiteError) {
        insert.bind(bits: incarnation.number, 1)
        insert.bind(2, Int64(clamping: block.first))
        insert.bind(3, Int64(clamping: block.last))
        insert.bind(4, block.heads)
        insert.bind(5, block.payloads)
        try insert.run()
        hasSome = true
    }

    /// Takes a block away; its rows.
    func remove(_ block: Found, of incarnation: Incarnation) throws(SQLiteError) -> [HistoryRow] {
        payloads.bind(1, block.id)
        guard try payloads.step() else { return [] }
        let bytes = payloads.bytes(0)
        payloads.reset()
        var rows: [HistoryRow] = []
        for row in block.heads.rows { rows.append(try block.heads.row(row, of: incarnation, payloads: bytes)) }
        delete.bind(1, block.id)
        try delete.run()
        return rows
    }
}

extension BlockHeads {
    /// The row as a value. Throws `.corrupt` when its payload is not there.
    func row(_ row: Row, of incarnation: Incarnation, payloads: [UInt8]) throws(SQLiteError) -> HistoryRow {
        guard row.payload.upperBound <= payloads.count else {
            throw SQLiteError(code: .corrupt, message: "the payloads of a block of history end before their heads do")
        }
        return HistoryRow(
            incarnation: incarnation, seq: row.seq, index: row.index, time: row.time, type: row.type,
            sender: sender(of: row), command: row.command, payload: [UInt8](payloads[row.payload]))
    }
}
