import ChatModel
import SQLite

/// The writing connection to one day's history. It is the only one that writes or checkpoints. Used by the shard's
/// storage thread only.
final class DayFile {
    // "CRhi". The key stands first and the payload last, so that looking for rows never reads the pages of long payloads.
    static let format = DatabaseFormat(
        what: "a day's history", applicationID: 0x4352_6869, version: 2,
        schema: """
            CREATE TABLE meta (
                id INTEGER PRIMARY KEY CHECK (id = 1), applied INTEGER NOT NULL, last_time INTEGER);
            INSERT INTO meta (id, applied) VALUES (1, 0);
            CREATE TABLE message (
                incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, log_index INTEGER NOT NULL, time INTEGER NOT NULL,
                type INTEGER NOT NULL, recalled INTEGER NOT NULL, command_high INTEGER, command_low INTEGER, sender TEXT,
                payload BLOB NOT NULL, PRIMARY KEY (incarnation, seq)) WITHOUT ROWID;
            CREATE TABLE tombstone (
                incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, log_index INTEGER NOT NULL, replacement BLOB,
                PRIMARY KEY (incarnation, seq)) WITHOUT ROWID;
            CREATE TABLE copies (
                incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, payload BLOB NOT NULL,
                PRIMARY KEY (incarnation, seq)) WITHOUT ROWID;
            """,
        conversions: [
            DatabaseFormat.Conversion(from: 2, level: Feature.historyBlocks.level) { (database) throws(SQLiteError) in
                try database.execute(BlockTable.schema)
            },
            // No release wrote version 3: where a file is of it, the level is that of version 4, known or not.
            DatabaseFormat.Conversion(from: 3, level: .first) { (database) throws(SQLiteError) in
                try database.execute(BlockTable.payloadFileSchema)
            },
        ])

    private static let pageBytes = 4_096

    let database: Database
    /// Something was committed that has not been synced.
    private(set) var hasUnsyncedChanges = false
    /// The time of the newest row; nil when there is none.
    private(set) var lastTime: Timestamp?
    private(set) var applied: UInt64
    /// That of its format.
    let version: Int64
    private var tombstones: Int64
    private let erased: @Sendable ([UInt8]) -> [UInt8]
    private let upsert: Statement
    private let amend: Statement
    private let putCommand: Statement
    private let find: Statement
    private let replace: Statement
    private let putCopies: Statement
    private let dropCopies: Statement
    private let meta: Statement
    private let findTombstone: Statement
    private let putTombstone: Statement
    private let dropTombstone: Statement
    private var blocks: BlockTable?
    private let blockRowsMin: Int

    /// - Parameters:
    ///   - level: the cluster's feature level.
    ///   - blockRowsMin: as in `StorageConfiguration`, and so is `inlinePayloadsMax`.
    init(
        path: String, vfs: String?, level: FeatureLevel = .newest, blockRowsMin: Int = 8,
        inlinePayloadsMax: Int = 1 << 10, erased: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) throws {
        var options = DatabaseOptions()
        options.create = true
        options.synchronous = .normal
        // Busy rooms write blocks, which come behind all others, so few pages are wanted again. Measured with 750 rooms in a
        // shard and few rows of each in a transaction: 4 MB, of each of 128 shards, made no difference.
        options.cacheKilobytes = 1024
        options.busyTimeoutMilliseconds = 1_000
        // A recalled message must not stay readable in the file.
        options.secureDelete = true
        options.vfs = vfs
        let database = try Database(path: path, options: options)
        do {
            version = try Self.format.prepare(database, at: level)
            self.database = database
            self.erased = erased
            self.blockRowsMin = max(blockRowsMin, 1)
            let known = try database.prepare("SELECT applied, last_time, (SELECT count(*) FROM tombstone) FROM meta")
            guard try known.step() else { throw StorageError(.corrupt, "\(path): the table meta is empty") }
            applied = known.bits(0)
            lastTime = known.optionalInt64(1).map { Timestamp($0) }
            tombstones = known.int64(2)
            known.reset()
            upsert = try database.prepare(
                """
                INSERT INTO message (incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender,
                    payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (incarnation, seq) DO UPDATE SET log_index = excluded.log_index, time = excluded.time,
                    type = excluded.type, recalled = excluded.recalled, command_high = excluded.command_high,
                    command_low = excluded.command_low, sender = excluded.sender, payload = excluded.payload
                WHERE excluded.log_index >= message.log_index
                """)
            // Never over a recall.
            amend = try database.prepare(
                """
                INSERT INTO message (incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender,
                    payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (incarnation, seq) DO UPDATE SET log_index = excluded.log_index, payload = excluded.payload
                WHERE excluded.log_index >= message.log_index AND message.recalled = 0
                """)
            // An amendment that came before the message which it amends did not know whose command made that.
            putCommand = try database.prepare(
                """
                UPDATE message SET command_high = ?, command_low = ?
                WHERE incarnation = ? AND seq = ? AND command_high IS NULL
                """)
            find = try database.prepare(
                "SELECT log_index, recalled, payload FROM message WHERE incarnation = ? AND seq = ?")
            replace = try database.prepare(
                """
                UPDATE message SET recalled = 1, log_index = ?, payload = ? WHERE incarnation = ? AND seq = ?
                """)
            // Not beside a recalled row, which may be there already. An amended one has the same copies.
            putCopies = try database.prepare(
                """
                INSERT OR REPLACE INTO copies (incarnation, seq, payload)
                SELECT incarnation, seq, ? FROM message WHERE incarnation = ? AND seq = ? AND recalled = 0
                """)
            dropCopies = try database.prepare("DELETE FROM copies WHERE incarnation = ? AND seq = ?")
            meta = try database.prepare("UPDATE meta SET applied = ?, last_time = ?")
            findTombstone = try database.prepare(
                "SELECT log_index, replacement FROM tombstone WHERE incarnation = ? AND seq = ?")
            putTombstone = try database.prepare(
                "INSERT OR REPLACE INTO tombstone (incarnation, seq, log_index, replacement) VALUES (?, ?, ?, ?)")
            dropTombstone = try database.prepare("DELETE FROM tombstone WHERE incarnation = ? AND seq = ?")
            blocks = try BlockTable(database, vfs: vfs, inlineMax: inlinePayloadsMax)
            hasUnsyncedChanges = blocks?.isCheckpointDue ?? false
        } catch {
            database.close()
            throw error
        }
    }

    /// Writes rows and then erasures in one transaction, with the index up to which this file is complete. The file's
    /// own index is never before a row's, also when a row that another replica had applied earlier is filled in.
    ///
    /// - Parameter bytes: of the `HistoryRows` of which `rows` are the places.
    func write(
        _ rows: RowGroups, in bytes: UnsafeRawBufferPointer, _ erasures: [Erasure], applied index: UInt64
    ) throws(SQLiteError) {
        let (oldTime, oldApplied, oldTombstones, oldBlocks) = (lastTime, applied, tombstones, blocks)
        do throws(SQLiteError) {
            try database.transaction { () throws(SQLiteError) in
                try blocks?.begin()
                for group in rows.groups { try put(group, in: bytes) }
                if let time = rows.lastTime { lastTime = max(lastTime ?? time, time) }
                for erasure in erasures { try erase(erasure) }
                applied = max(applied, index, rows.lastIndex, erasures.map(\.index).max() ?? 0)
                meta.bind(bits: applied, 1)
                meta.bind(2, lastTime?.milliseconds)
                try meta.run()
                try blocks?.noteEnd(since: oldBlocks)
            }
        } catch {
            (lastTime, applied, tombstones, blocks) = (oldTime, oldApplied, oldTombstones, oldBlocks)
            blocks?.doubt()
            // The payloads that it has written are to be cleared.
            if blocks?.isCheckpointDue ?? false { hasUnsyncedChanges = true }
            throw error
        }
        hasUnsyncedChanges = true
    }

    private func put(_ group: RowGroups.Group, in bytes: UnsafeRawBufferPointer) throws(SQLiteError) {
        let (places, others) = try settle(group, in: bytes)
        guard !places.isEmpty else { return }
        let fitBlocks =
            if places.count >= blockRowsMin, let blocks, let seqs = BlockBuilder.seqs(of: places, in: bytes) {
                // Rows that another write has brought already would be there twice.
                try blocks.isFree(group.incarnation, seqs, tombstones: tombstones)
            } else {
                false
            }
        guard fitBlocks else {
            for place in places { try put(PackedRow(bytes, at: place).row) }
            return
        }
        var (block, start) = (BlockBuilder(), 0)
        for number in places.indices {
            let row = PackedRow(bytes, at: places[number])
            // No block reaches over another.
            let isParted = block.count > 0 && others.contains { $0 > block.last && $0 < row.head.seq }
            if isParted || !block.fits(row) {
                try put(block, or: places[start..<number], of: group.incarnation, in: bytes)
                (block, start) = (BlockBuilder(), number)
            }
            block.append(row)
        }
        try put(block, or: places[start...], of: group.incarnation, in: bytes)
    }

    /// Puts a block, or its rows where they are too few for one.
    private func put(
        _ block: BlockBuilder, or places: ArraySlice<Int>, of incarnation: Incarnation, in bytes: UnsafeRawBufferPointer
    ) throws(SQLiteError) {
        guard block.count >= blockRowsMin else {
            for place in places { try put(PackedRow(bytes, at: place).row) }
            return
        }
        try blocks?.put(block, of: incarnation)
    }

    /// Makes room for rows where there are blocks with their seqs. The places of those that are still to be put, and where
    /// the blocks begin that are left there.
    ///
    /// After a crash the log brings again what is there already: such a row is left alone. Where one would change a row of a
    /// block, or come between two of them, all of the block become rows of their own.
    private func settle(
        _ group: RowGroups.Group, in bytes: UnsafeRawBufferPointer
    ) throws(SQLiteError) -> (places: [Int], others: [UInt64]) {
        guard var block = try blocks?.last(of: group.incarnation, in: group.seqs) else { return (group.places, []) }
        // By seq: blocks are looked for where there are rows, and not between them.
        let rows = group.places.map { PackedRow(bytes, at: $0).head.seq }.enumerated()
            .sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }
        var (count, others, settled) = (rows.count, [UInt64](), Set<Int>())
        while let first = block.heads.rows.first?.seq, let last = block.heads.rows.last?.seq {
            while count > 0, rows[count - 1].element > last { count -= 1 }
            let end = count
            while count > 0, rows[count - 1].element >= first { count -= 1 }
            let within = rows[count..<end].map(\.offset)
            if within.allSatisfy({ block.heads.hasAlready(PackedRow(bytes, at: group.places[$0])) }) {
                others.append(first)
                settled.formUnion(within)
            } else {
                try open(block, of: group.incarnation)
            }
            guard count > 0,
                let next = try blocks?.last(of: group.incarnation, in: rows[0].element...rows[count - 1].element)
            else { break }
            block = next
        }
        return (group.places.indices.filter { !settled.contains($0) }.map { group.places[$0] }, others)
    }

    /// The rows of a block become rows of their own.
    private func open(_ block: BlockTable.Found, of incarnation: Incarnation) throws(SQLiteError) {
        for row in try blocks?.remove(block, of: incarnation) ?? [] { try put(row, by: upsert) }
    }

    private func put(_ row: HistoryRow) throws(SQLiteError) {
        var row = row
        if tombstones > 0 { try bury(&row) }
        try put(row, by: row.isAmendment ? amend : upsert)
        if let command = row.command, database.changes == 0 { try put(command, of: row) }
        try put(row.copies, of: row)
    }

    private func put(_ row: HistoryRow, by upsert: Statement) throws(SQLiteError) {
        upsert.bind(bits: row.incarnation.number, 1)
        upsert.bind(2, Int64(clamping: row.seq))
        upsert.bind(3, Int64(clamping: row.index))
        upsert.bind(4, row.time.milliseconds)
        upsert.bind(5, row.type)
        upsert.bind(6, Int64(row.recalled ? 1 : 0))
        upsert.bind(7, row.command.map { Int64(bitPattern: $0.high) })
        upsert.bind(8, row.command.map { Int64(bitPattern: $0.low) })
        upsert.bind(9, row.sender)
        upsert.bind(10, row.payload)
        try upsert.run()
    }

    private func put(_ command: CommandKey, of row: HistoryRow) throws(SQLiteError) {
        putCommand.bind(1, Int64(bitPattern: command.high))
        putCommand.bind(2, Int64(bitPattern: command.low))
        putCommand.bind(bits: row.incarnation.number, 3)
        putCommand.bind(4, Int64(clamping: row.seq))
        try putCommand.run()
    }

    private func put(_ copies: [UInt8]?, of row: HistoryRow) throws(SQLiteError) {
        if row.recalled {
            try removeCopies(row.incarnation, row.seq)
        } else if let copies {
            putCopies.bind(1, copies)
            putCopies.bind(bits: row.incarnation.number, 2)
            putCopies.bind(3, Int64(clamping: row.seq))
            try putCopies.run()
        }
    }

    private func removeCopies(_ incarnation: Incarnation, _ seq: UInt64) throws(SQLiteError) {
        dropCopies.bind(bits: incarnation.number, 1)
        dropCopies.bind(2, Int64(clamping: seq))
        try dropCopies.run()
    }

    /// A row that comes after its recall is recalled from the start.
    private func bury(_ row: inout HistoryRow) throws(SQLiteError) {
        findTombstone.bind(bits: row.incarnation.number, 1)
        findTombstone.bind(2, Int64(clamping: row.seq))
        guard try findTombstone.step() else { return }
        let index = UInt64(clamping: findTombstone.int64(0))
        let replacement = findTombstone.isNull(1) ? nil : findTombstone.bytes(1)
        findTombstone.reset()
        if index >= row.index {
            if !row.recalled { row.payload = replacement ?? erased(row.payload) }
            row.recalled = true
            row.index = index
        }
        dropTombstone.bind(bits: row.incarnation.number, 1)
        dropTombstone.bind(2, Int64(clamping: row.seq))
        try dropTombstone.run()
        tombstones -= 1
    }

    private func erase(_ erasure: Erasure) throws(SQLiteError) {
        if let block = try blocks?.last(of: erasure.incarnation, in: erasure.seq...erasure.seq) {
            try open(block, of: erasure.incarnation)
        }
        find.bind(bits: erasure.incarnation.number, 1)
        find.bind(2, Int64(clamping: erasure.seq))
        guard try find.step() else {
            try putTombstone(erasure)
            return
        }
        let index = UInt64(clamping: find.int64(0))
        let isRecalled = find.int64(1) != 0
        let payload = erasure.replacement ?? erased(find.bytes(2))
        find.reset()
        guard index < erasure.index || !isRecalled else { return }
        replace.bind(1, Int64(clamping: max(index, erasure.index)))
        replace.bind(2, payload)
        replace.bind(bits: erasure.incarnation.number, 3)
        replace.bind(4, Int64(clamping: erasure.seq))
        try replace.run()
        try removeCopies(erasure.incarnation, erasure.seq)
    }

    private func putTombstone(_ erasure: Erasure) throws(SQLiteError) {
        findTombstone.bind(bits: erasure.incarnation.number, 1)
        findTombstone.bind(2, Int64(clamping: erasure.seq))
        let isNew = try !findTombstone.step()
        let index = isNew ? 0 : UInt64(clamping: findTombstone.int64(0))
        findTombstone.reset()
        guard isNew || index < erasure.index else { return }
        putTombstone.bind(bits: erasure.incarnation.number, 1)
        putTombstone.bind(2, Int64(clamping: erasure.seq))
        putTombstone.bind(3, Int64(clamping: erasure.index))
        if let replacement = erasure.replacement {
            putTombstone.bind(4, replacement)
        } else {
            putTombstone.bindNull(4)
        }
        try putTombstone.run()
        if isNew { tombstones += 1 }
    }

    /// Pages that the next checkpoint has to sync, those of the write-ahead log and the payloads of blocks.
    var unsyncedPages: Int { database.writeAheadLogPages + (blocks?.unsyncedBytes ?? 0) / Self.pageBytes }

    /// Syncs everything that was committed. False when readers were in the way; then nothing may be counted as synced.
    func checkpoint() throws(SQLiteError) -> Bool {
        guard hasUnsyncedChanges else { return true }
        try blocks?.sync()
        var result = try database.checkpoint(.passive)
        // Waits for readers of older states; their reads are cut into slices of a few milliseconds.
        if !result.isComplete { result = try database.checkpoint(.full) }
        guard result.isComplete else { return false }
        // A failure leaves the holes to the next checkpoint.
        try blocks?.wipe()
        hasUnsyncedChanges = false
        return true
    }

    func close() {
        blocks?.close()
        database.close()
    }
}
