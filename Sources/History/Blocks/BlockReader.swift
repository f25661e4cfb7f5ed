import ChatModel
import SQLite

/// The blocks of one day's file, for a reading connection. A block is valid on one state of the file (`readTransaction`):
/// its ID may be given out again.
struct BlockReader {
    private let ascending: Statement
    private let descending: Statement
    private let after: Statement
    private let holder: Statement
    private let last: Statement
    private let payloads: BlockPayloads

    /// nil: the file is of a format that has none.
    init?(_ database: Database, vfs: String?) throws(SQLiteError) {
        guard try BlockTable.isThere(in: database) else { return nil }
        // From the one on that holds the first seq, or would.
        func between(_ order: String) -> String {
            """
            SELECT incarnation, first, id, heads, last FROM block WHERE incarnation = ?1 AND first <= ?3 AND first >= ifnull(
                (SELECT first FROM block WHERE incarnation = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1), ?2)
            ORDER BY first \(order)
            """
        }
        ascending = try database.prepare(between("ASC"))
        descending = try database.prepare(between("DESC"))
        after = try database.prepare(
            """
            SELECT incarnation, first, id, heads, last FROM block WHERE (incarnation, first) >= (?1, ifnull(
                (SELECT first FROM block WHERE incarnation = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1), ?2))
            ORDER BY incarnation, first
            """)
        holder = try database.prepare(
            """
            SELECT incarnation, first, id, heads, last FROM block WHERE incarnation = ? AND first <= ?
            ORDER BY first DESC LIMIT 1
            """)
        last = try database.prepare("SELECT last FROM block WHERE incarnation = ? ORDER BY first DESC LIMIT 1")
        payloads = try BlockPayloads(database, vfs: vfs)
    }

    func close() { payloads.close() }

    /// Those that may have seqs of a range; to be reset.
    func walk(
        _ incarnation: Incarnation, _ seqs: ClosedRange<Int64>, in order: HistoryQuery.Order
    ) -> Statement {
        let statement = order == .ascending ? ascending : descending
        statement.reset()
        statement.bind(bits: incarnation.number, 1)
        statement.bind(2, seqs.lowerBound)
        statement.bind(3, seqs.upperBound)
        return statement
    }

    /// Those that may have rows behind a place, in their order; to be reset.
    func walk(after place: DayReader.Place) -> Statement {
        after.reset()
        after.bind(1, place.life)
        after.bind(2, place.seq)
        return after
    }

    /// The block under the cursor of a walk.
    func block(_ statement: Statement) throws(SQLiteError) -> StoredBlock {
        let seqs = (statement.int64(1), statement.int64(4))
        return StoredBlock(
            life: statement.int64(0), id: statement.int64(2),
            heads: try BlockHeads(decoding: statement.bytes(3), from: seqs.0, through: seqs.1), payloads: payloads)
    }

    /// The block that has the seq between its first and its last one.
    func block(_ incarnation: Incarnation, around seq: Int64) throws(SQLiteError) -> StoredBlock? {
        holder.bind(bits: incarnation.number, 1)
        holder.bind(2, seq)
        defer { holder.reset() }
        guard try holder.step(), holder.int64(4) >= seq else { return nil }
        return try block(holder)
    }

    /// The first row at or after a seq.
    func first(_ incarnation: Incarnation, from seq: Int64) throws(SQLiteError) -> BlockHeads.Row? {
        let statement = walk(incarnation, seq...(.max), in: .ascending)
        defer { statement.reset() }
        while try statement.step() {
            let heads = try block(statement).heads
            let place = heads.place(of: UInt64(clamping: seq))
            if place < heads.rows.count { return heads.rows[place] }
        }
        return nil
    }

    func lastSeq(_ incarnation: Incarnation) throws(SQLiteError) -> Int64? {
        last.bind(bits: incarnation.number, 1)
        defer { last.reset() }
        return try last.step() ? last.int64(0) : nil
    }
}

/// Reads the payloads of blocks, for a reading connection.
final class BlockPayloads {
    private let row: Statement
    private let file: PayloadFile

    init(_ database: Database, vfs: String?) throws(SQLiteError) {
        row = try database.prepare("SELECT payloads, place, checksum FROM block WHERE id = ?")
        file = PayloadFile(beside: database, vfs: vfs, readOnly: true)
    }

    func close() { file.close() }

    func read(_ id: Int64, _ heads: BlockHeads) throws(SQLiteError) -> [UInt8] {
        row.bind(1, id)
        defer { row.reset() }
        guard try row.step() else {
            throw SQLiteError(code: .corrupt, message: "a block of history has no payloads")
        }
        guard let place = heads.place(row, column: 1) else { return row.bytes(0) }
        return try file.read(place)
    }
}

/// A block that is being read. Its payloads are read when the first of them is wanted.
final class StoredBlock {
    let life: Int64
    let heads: BlockHeads
    private let id: Int64
    private let source: BlockPayloads
    private var payloads: [UInt8]?

    init(life: Int64, id: Int64, heads: BlockHeads, payloads source: BlockPayloads) {
        (self.life, self.id, self.heads, self.source) = (life, id, heads, source)
    }

    func sender(_ number: Int) -> String? { heads.sender(of: heads.rows[number]) }

    /// The row with its payload.
    func row(_ number: Int) throws(SQLiteError) -> HistoryRow {
        if payloads == nil { payloads = try source.read(id, heads) }
        return try heads.row(heads.rows[number], of: Incarnation(UInt64(bitPattern: life)), payloads: payloads ?? [])
    }

    /// The row without its payload.
    func bare(_ number: Int) -> HistoryRow {
        let row = heads.rows[number]
        return HistoryRow(
            incarnation: Incarnation(UInt64(bitPattern: life)), seq: row.seq, index: row.index, time: row.time,
            type: row.type, sender: sender(number), command: row.command, payload: [])
    }
}
