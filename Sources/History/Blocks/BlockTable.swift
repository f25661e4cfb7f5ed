import ChatModel
import SQLite

/// The table of blocks of one day's file, for its writing connection: rows of one room's life that were written together
/// share a row of the file. That costs a fraction of a row each.
///
/// Two things hold at all times: blocks of a life do not overlap, and no row of its own has a seq between the first and the
/// last one of a block. So a walk in the order of seqs shows the one or the other as a whole. A row of a block never changes
/// there: all of its block become rows of their own before, once.
///
/// Payloads of some length are in a file beside the database (`PayloadFile`). Those of blocks up to `syncedBlock` are on the disk
/// for good. Later ones are looked at when the file is opened: after a power cut a block without its payloads is taken
/// out, since rows that have not been synced come again, from the log or from the node that it was filled in from.
struct BlockTable {
    static let schema = """
        CREATE TABLE block (
            id INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
            heads BLOB NOT NULL, payloads BLOB NOT NULL);
        CREATE UNIQUE INDEX block_place ON block (incarnation, first, last);
        """

    /// `place` is null where the payloads are in the row. A hole is what a block that was taken away has left in the file, until
    /// that is zeros.
    static let payloadFileSchema = """
        ALTER TABLE block ADD COLUMN place INTEGER;
        ALTER TABLE block ADD COLUMN checksum INTEGER;
        CREATE TABLE payload_file (
            id INTEGER PRIMARY KEY CHECK (id = 1), end INTEGER NOT NULL, synced INTEGER NOT NULL,
            synced_block INTEGER NOT NULL);
        INSERT INTO payload_file (id, end, synced, synced_block) VALUES (1, 0, 0, 0);
        CREATE TABLE hole (place INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
        """

    /// One that overlaps with seqs that are to be written.
    struct Found {
        var id: Int64
        var heads: BlockHeads
    }

    private static let holesAtOnce = 512
    /// The highest place and ID: sums of some are numbers still.
    private static let numberMax: Int64 = 1 << 53

    private let database: Database
    private let inlineMax: Int
    private let file: PayloadFile
    private let find: Statement
    private let payloads: Statement
    private let insert: Statement
    private let delete: Statement
    private let isTaken: Statement
    private let isBuried: Statement
    private let state: Statement
    private let setEnd: Statement
    private let setSynced: Statement
    private let putHole: Statement
    /// There has been one: until then nobody looks for any.
    private(set) var hasSome: Bool
    /// The length of the file, as far as blocks have had it.
    private var end: Int64
    private var synced: Int64
    private var syncedBlock: Int64
    /// IDs are never given out twice, unless none of them was ever synced.
    private var lastBlock: Int64
    private var hasHoles: Bool
    /// Something was written that is not behind `synced`.
    private var isFileDirty = false
    /// A transaction failed: whether it was committed all the same, the database says.
    private var isInDoubt = false

    /// nil: the file is of a format that has none.
    init?(_ database: Database, vfs: String?, inlineMax: Int) throws(SQLiteError) {
        guard try Self.isThere(in: database) else { return nil }
        self.database = database
        self.inlineMax = inlineMax
        file = PayloadFile(beside: database, vfs: vfs)
        // The last one that begins before the end: blocks do not overlap.
        find = try database.prepare(
            """
            SELECT id, first, last, heads FROM block WHERE incarnation = ? AND first <= ? ORDER BY first DESC LIMIT 1
            """)
        payloads = try database.prepare("SELECT payloads, place, checksum FROM block WHERE id = ?")
        insert = try database.prepare(
            """
            INSERT INTO block (incarnation, first, last, heads, payloads, place, checksum, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """)
        delete = try database.prepare("DELETE FROM block WHERE id = ?")
        isTaken = try database.prepare(
            "SELECT 1 FROM message WHERE incarnation = ? AND seq BETWEEN ? AND ? LIMIT 1")
        isBuried = try database.prepare(
            "SELECT 1 FROM tombstone WHERE incarnation = ? AND seq BETWEEN ? AND ? LIMIT 1")
        state = try database.prepare(
            """
            SELECT end, synced, synced_block, EXISTS (SELECT 1 FROM hole), (SELECT max(id) FROM block) FROM payload_file
            """)
        setEnd = try database.prepare("UPDATE payload_file SET end = ?")
        setSynced = try database.prepare("UPDATE payload_file SET synced = ?, synced_block = ?")
        putHole = try database.prepare("INSERT OR REPLACE INTO hole (place, bytes) VALUES (?, ?)")
        (hasSome, end, synced, syncedBlock, lastBlock, hasHoles) = (false, 0, 0, 0, 0, false)
        try readState()
        if file.isThere || end > synced { try settleFile() }
    }

    static func isThere(in database: Database) throws(SQLiteError) -> Bool {
        let table = try database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'block'")
        defer { table.reset() }
        return try table.step()
    }

    func close() { file.close() }

    private mutating func readState() throws(SQLiteError) {
        defer { state.reset() }
        guard try state.step() else {
            throw SQLiteError(code: .corrupt, message: "\(database.path): the table payload_file is empty")
        }
        let last = state.optionalInt64(4)
        (end, synced, syncedBlock, hasHoles) = (state.int64(0), state.int64(1), state.int64(2), state.int64(3) != 0)
        guard 0 <= synced, synced <= end, end <= Self.numberMax, (0...Self.numberMax).contains(syncedBlock),
            (0...Self.numberMax).contains(last ?? 0)
        else {
            throw SQLiteError(
                code: .corrupt, message: "\(database.path): the table payload_file has numbers that can't be")
        }
        hasSome = last != nil
        lastBlock = max(last ?? 0, syncedBlock)
    }

    // MARK: - Blocks

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
        if block.payloads.count <= inlineMax {
            insert.bind(5, block.payloads)
            insert.bindNull(6)
            insert.bindNull(7)
        } else {
            try file.write(block.payloads, at: end)
            insert.bind(5, [UInt8]())
            insert.bind(6, end)
            insert.bind(7, Int64(CRC32C.of(block.payloads)))
            end += Int64(block.payloads.count)
        }
        lastBlock += 1
        insert.bind(8, lastBlock)
        try insert.run()
        hasSome = true
    }

    /// Takes a block away; its rows.
    mutating func remove(_ block: Found, of incarnation: Incarnation) throws(SQLiteError) -> [HistoryRow] {
        payloads.bind(1, block.id)
        guard try payloads.step() else { return [] }
        let place = block.heads.place(payloads, column: 1)
        var bytes = payloads.bytes(0)
        payloads.reset()
        if let place { bytes = try file.read(place) }
        var rows: [HistoryRow] = []
        for row in block.heads.rows { rows.append(try block.heads.row(row, of: incarnation, payloads: bytes)) }
        try drop(block.id, place)
        return rows
    }

    private mutating func drop(_ id: Int64, _ place: PayloadFile.Place?) throws(SQLiteError) {
        delete.bind(1, id)
        try delete.run()
        guard let place else { return }
        putHole.bind(1, place.offset)
        putHole.bind(2, place.count)
        try putHole.run()
        hasHoles = true
    }

    // MARK: - The file of payloads

    /// Bytes that a checkpoint has still to sync.
    var unsyncedBytes: Int { Int(end - synced) }

    /// There is something to do for a checkpoint, also without a transaction.
    var isCheckpointDue: Bool { isFileDirty || end > synced || file.writtenEnd > end || hasHoles }

    /// At the beginning of a transaction that may put blocks.
    mutating func begin() throws(SQLiteError) {
        guard isInDoubt else { return }
        try readState()
        isInDoubt = false
    }

    /// At the end of it. `former` is the table as it was before.
    func noteEnd(since former: BlockTable?) throws(SQLiteError) {
        guard end != former?.end else { return }
        setEnd.bind(1, end)
        try setEnd.run()
    }

    /// After a transaction that failed, for the table as it was before.
    mutating func doubt() { isInDoubt = true }

    /// Brings the payloads to the disk, and then says so in the database: with the checkpoint that follows, both are durable.
    mutating func sync() throws(SQLiteError) {
        try begin()
        // A transaction that failed has left it, and its rows may never come again in the same way.
        if file.writtenEnd > end, try file.clear(from: end) { isFileDirty = true }
        guard isFileDirty || end > synced else { return }
        try file.sync()
        isFileDirty = false
        guard end > synced else { return }
        setSynced.bind(1, end)
        setSynced.bind(2, lastBlock)
        try setSynced.run()
        (synced, syncedBlock) = (end, lastBlock)
    }

    /// Writes zeros over what blocks have left that were taken away. The database is synced without them, and no reader sees it as
    /// it was before: a checkpoint has been completed.
    mutating func wipe() throws(SQLiteError) {
        guard hasHoles else { return }
        let holes = try database.prepare("SELECT place, bytes FROM hole LIMIT ?")
        let fill = try database.prepare("DELETE FROM hole WHERE place = ?")
        while true {
            holes.bind(1, Self.holesAtOnce)
            var found: [(place: Int64, bytes: Int64)] = []
            while try holes.step() { found.append((holes.int64(0), holes.int64(1))) }
            holes.reset()
            if found.isEmpty { break }
            // Not beyond the end, whatever damage says.
            for hole in found where hole.place >= 0 && hole.place < end && hole.bytes > 0 {
                try file.zero(hole.place..<min(end, hole.place + min(hole.bytes, end)))
            }
            try file.sync()
            try database.transaction { () throws(SQLiteError) in
                for hole in found {
                    fill.bind(1, hole.place)
                    try fill.run()
                }
            }
        }
        hasHoles = false
    }

    private static func damage(_ database: Database, _ what: String) -> SQLiteError {
        SQLiteError(code: .corrupt, message: "\(database.path)\(PayloadFile.suffix) \(what)")
    }

    /// Nothing is cleared that a block has: places ascend with the IDs.
    private func checkEnd() throws(SQLiteError) {
        let newest = try database.prepare(
            "SELECT first, last, heads, place, checksum FROM block WHERE place IS NOT NULL ORDER BY id DESC LIMIT 1")
        defer { newest.reset() }
        guard try newest.step() else { return }
        let heads = try BlockHeads(decoding: newest.bytes(2), from: newest.int64(0), through: newest.int64(1))
        guard let place = heads.place(newest, column: 3), place.offset <= end, Int64(place.count) <= end - place.offset
        else { throw Self.damage(database, "has a block behind its end") }
    }

    /// Takes out the blocks whose payloads a power cut has kept from the disk. The others are written once more: they were read
    /// from the kernel's memory, from where they may never have come to the disk. Bytes behind the end are cleared: nobody knows of
    /// them, so nobody would wipe them.
    private mutating func settleFile() throws(SQLiteError) {
        let size = try file.size()
        // A file that is not there at all is told by each read of it.
        guard size == 0 || size >= synced else { throw Self.damage(database, "ends before its payloads do") }
        if size > end {
            try checkEnd()
            if try file.clear(from: end) { isFileDirty = true }
        }
        guard end > synced else { return }
        let newer = try database.prepare("SELECT id, first, last, heads, place, checksum FROM block WHERE id > ?")
        newer.bind(1, syncedBlock)
        defer { newer.reset() }
        var lost: [(id: Int64, place: PayloadFile.Place)] = []
        while try newer.step() {
            let heads = try BlockHeads(decoding: newer.bytes(3), from: newer.int64(1), through: newer.int64(2))
            guard let place = heads.place(newer, column: 4) else { continue }
            if let bytes = try file.find(place) {
                try file.write(bytes, at: place.offset)
            } else {
                lost.append((newer.int64(0), place))
            }
        }
        newer.reset()
        guard !lost.isEmpty else { return }
        try database.begin()
        for block in lost { try drop(block.id, block.place) }
        try database.commit()
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

    /// The place of the payloads of the block under a cursor; nil: they are in its row.
    ///
    /// - Parameter column: that of `place`; the next one is `checksum`.
    func place(_ statement: Statement, column: Int32) -> PayloadFile.Place? {
        guard let offset = statement.optionalInt64(column) else { return nil }
        return PayloadFile.Place(
            offset: offset, count: rows.last?.payload.upperBound ?? 0,
            checksum: UInt32(truncatingIfNeeded: statement.int64(column + 1)))
    }
}
