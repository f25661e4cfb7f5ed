import ChatModel
import SQLite

/// The writing connection to the index of one day file, on the index thread. Its contents follow from the day file, so it
/// may be removed at any time.
///
/// An index has blocks, one after the other in time: tables of FTS5 of a bounded size. So a common word is looked for in the
/// newest block only, the first step of a search is bounded, and a recalled word is taken out of the file by writing one block
/// anew. SQLite of before 3.42 leaves deleted terms in the file until then.
final class SearchIndexFile {
    // "CRse".
    static let format = DatabaseFormat(
        what: "an index of a day's history", applicationID: 0x4352_7365, version: 1,
        schema: """
            CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), applied INTEGER NOT NULL);
            INSERT INTO meta (id, applied) VALUES (1, 0);
            CREATE TABLE room (number INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL UNIQUE);
            CREATE TABLE block (
                number INTEGER PRIMARY KEY, first_time INTEGER NOT NULL, last_time INTEGER NOT NULL,
                rows INTEGER NOT NULL, is_dirty INTEGER NOT NULL);
            """)

    /// The row of a message. `text` is empty for one without anything to find.
    struct Entry {
        var life: Incarnation
        var seq: UInt64
        /// The log entry that changed it last.
        var index: UInt64
        var time: Timestamp
        var text: String
    }

    /// A part of the index.
    struct Block {
        var number: Int64
        /// The time of the first message that belongs to it.
        var firstTime: Int64
        var lastTime: Int64
        /// Long ones count as several.
        var rows: Int64
        /// Holds what was deleted, or several parts that were written one after the other.
        var isDirty: Bool
    }

    private struct BlockStatements {
        var find, insert, delete: Statement
    }

    let database: Database
    private(set) var blocks: [Block] = []
    /// Up to which log entry it has all of the day file; 0: it lacks some.
    private(set) var applied: UInt64
    /// The write-ahead log still has what was deleted.
    private(set) var needsTruncation = true
    private let blockRows: Int64
    private var numbers: [Incarnation: Int64] = [:]
    private var statements: [Int64: BlockStatements] = [:]

    init(path: String, vfs: String?, blockRows: Int64) throws {
        var options = DatabaseOptions()
        options.create = true
        options.synchronous = .normal
        options.cacheKilobytes = 4096
        options.busyTimeoutMilliseconds = 1_000
        options.secureDelete = true
        options.vfs = vfs
        self.blockRows = blockRows
        let database = try Database(path: path, options: options)
        do {
            try database.register(tokenizer: IndexTokenizer.self, as: IndexTokenizer.name)
            try Self.format.prepare(database, at: .newest)
            self.database = database
            let meta = try database.prepare("SELECT applied FROM meta")
            guard try meta.step() else { throw StorageError(.corrupt, "\(path): the table meta is empty") }
            applied = meta.bits(0)
            meta.reset()
            let known = try database.prepare(
                "SELECT number, first_time, last_time, rows, is_dirty FROM block ORDER BY number")
            while try known.step() {
                blocks.append(
                    Block(
                        number: known.int64(0), firstTime: known.int64(1), lastTime: known.int64(2),
                        rows: known.int64(3), isDirty: known.int64(4) != 0))
            }
        } catch {
            database.close()
            throw error
        }
    }

    func close() { database.close() }

    /// As how many rows of a block one with so many bytes counts: the places of characters in a block have a bound.
    static func weight(bytes: Int) -> Int64 { 1 + Int64(bytes / bytesOfRow) }

    private static let bytesOfRow = 512

    // MARK: - Writing

    /// Makes blocks for a file that has rows already.
    /// - Parameter counts: how many rows there are from each time on until the next one, by weight.
    func plan(_ counts: [(time: Int64, rows: Int64)]) throws(SQLiteError) {
        guard blocks.isEmpty else { return }
        try database.transaction { () throws(SQLiteError) in
            var rows = blockRows
            for count in counts.sorted(by: { $0.time < $1.time }) {
                if rows >= blockRows {
                    try addBlock(from: count.time)
                    rows = 0
                }
                rows += count.rows
            }
        }
    }

    /// Puts the rows in, or takes those out that have no text any more. Rows that are there as they are now stay.
    /// - Parameter applied: up to which log entry it is complete then; nil: it lacks something.
    func put(_ entries: [Entry], applied: UInt64?) throws {
        let former = (blocks, needsTruncation)
        do {
            try database.transaction { () throws(SQLiteError) in
                var groups: [Int: [(row: Int64, entry: Entry)]] = [:]
                for entry in entries.sorted(by: { $0.time < $1.time }) {
                    guard let block = try block(of: entry), let row = try rowID(entry) else { continue }
                    groups[block, default: []].append((row, entry))
                }
                // FTS5 writes a part of its own each time that row IDs do not ascend.
                for (block, group) in groups.sorted(by: { $0.key < $1.key }) {
                    let statements = try statements(of: blocks[block].number)
                    for (row, entry) in group.sorted(by: { $0.row < $1.row }) {
                        try put(entry, row, place: block, block: statements)
                    }
                    try save(blocks[block])
                }
                try setApplied(applied ?? 0)
            }
        } catch {
            (blocks, needsTruncation) = former
            statements = [:]
            numbers = [:]
            throw error
        }
        self.applied = applied ?? 0
    }

    private func setApplied(_ index: UInt64) throws(SQLiteError) {
        let meta = try database.cached("UPDATE meta SET applied = ?")
        meta.bind(bits: index, 1)
        try meta.run()
    }

    private func put(_ entry: Entry, _ row: Int64, place: Int, block: BlockStatements) throws(SQLiteError) {
        block.find.bind(1, row)
        let found = try block.find.step() ? block.find.int64(0) : nil
        block.find.reset()
        if let found {
            if !entry.text.isEmpty, found == Int64(clamping: entry.index) { return }
            block.delete.bind(1, row)
            try block.delete.run()
            blocks[place].isDirty = true
            needsTruncation = true
        }
        blocks[place].lastTime = max(blocks[place].lastTime, entry.time.milliseconds)
        guard !entry.text.isEmpty else { return }
        block.insert.bind(1, row)
        block.insert.bind(2, IndexTokenizer.indexed(entry.text, of: entry.life))
        block.insert.bind(3, Int64(clamping: entry.index))
        try block.insert.run()
        // A message is counted once, and the length of each of its texts.
        blocks[place].rows += Self.weight(bytes: entry.text.utf8.count) - (found == nil ? 0 : 1)
    }

    /// Whether the index has the row as it is.
    func has(_ life: Incarnation, seq: UInt64, index: UInt64, time: Timestamp) throws -> Bool {
        let entry = Entry(life: life, seq: seq, index: index, time: time, text: "")
        guard let place = blocks.lastIndex(where: { $0.firstTime <= time.milliseconds }),
            let row = try rowID(entry, makes: false)
        else { return false }
        let block = try statements(of: blocks[place].number)
        block.find.bind(1, row)
        defer { block.find.reset() }
        return try block.find.step() && block.find.int64(0) == Int64(clamping: index)
    }

    // MARK: - Blocks

    /// The place of the block that an entry belongs to. A new one begins behind all times that there were, so that times
    /// tell the blocks apart for ever.
    private func block(of entry: Entry) throws(SQLiteError) -> Int? {
        let time = entry.time.milliseconds
        if let last = blocks.last {
            if last.rows >= blockRows, time > last.lastTime, !entry.text.isEmpty {
                blocks[blocks.count - 1].isDirty = true
                try save(blocks[blocks.count - 1])
                try addBlock(from: time)
            }
        } else {
            guard !entry.text.isEmpty else { return nil }
            try addBlock(from: time)
        }
        return blocks.lastIndex { $0.firstTime <= time } ?? 0
    }

    private func addBlock(from time: Int64) throws(SQLiteError) {
        // The first one has all that is older, too.
        let block = Block(
            number: (blocks.last?.number ?? 0) + 1, firstTime: blocks.isEmpty ? .min : time, lastTime: time, rows: 0,
            isDirty: false)
        try database.execute(
            """
            CREATE VIRTUAL TABLE block_\(block.number) USING fts5(
                text, log UNINDEXED, columnsize = 0, tokenize = '\(IndexTokenizer.name)')
            """)
        try save(block)
        blocks.append(block)
    }

    private func save(_ block: Block) throws(SQLiteError) {
        let save = try database.cached(
            "INSERT OR REPLACE INTO block (number, first_time, last_time, rows, is_dirty) VALUES (?, ?, ?, ?, ?)")
        save.bind(1, block.number)
        save.bind(2, block.firstTime)
        save.bind(3, block.lastTime)
        save.bind(4, block.rows)
        save.bind(5, Int64(block.isDirty ? 1 : 0))
        try save.run()
    }

    private func statements(of block: Int64) throws(SQLiteError) -> BlockStatements {
        if let known = statements[block] { return known }
        let made = BlockStatements(
            find: try database.prepare("SELECT log FROM block_\(block) WHERE rowid = ?"),
            insert: try database.prepare("INSERT INTO block_\(block) (rowid, text, log) VALUES (?, ?, ?)"),
            delete: try database.prepare("DELETE FROM block_\(block) WHERE rowid = ?"))
        statements[block] = made
        return made
    }

    // MARK: - Row IDs

    /// Rooms of one day that an index can tell apart.
    private static let roomBits: Int64 = 24

    /// The seq, and behind it a number of the room: unique, and growing with the seqs of a room.
    private func rowID(_ entry: Entry, makes: Bool = true) throws(SQLiteError) -> Int64? {
        guard entry.seq < 1 << (63 - UInt64(Self.roomBits)), let number = try number(of: entry.life, makes: makes)
        else {
            return nil
        }
        return Int64(entry.seq) << Self.roomBits | number
    }

    static func seq(_ rowID: Int64) -> Int64 { rowID >> roomBits }

    static func rowIDs(_ seqs: ClosedRange<Int64>) -> ClosedRange<Int64> {
        let most = Int64.max >> roomBits
        return
            (min(max(0, seqs.lowerBound), most) << roomBits)...(min(max(0, seqs.upperBound), most) << roomBits
            | (1 << roomBits - 1))
    }

    private func number(of life: Incarnation, makes: Bool) throws(SQLiteError) -> Int64? {
        if let known = numbers[life] { return known }
        let find = try database.cached("SELECT number FROM room WHERE incarnation = ?")
        find.bind(bits: life.number, 1)
        var number = try find.step() ? find.int64(0) : nil
        find.reset()
        if number == nil, makes {
            let add = try database.cached("INSERT INTO room (incarnation) VALUES (?)")
            add.bind(bits: life.number, 1)
            try add.run()
            number = try lastRoom()
        }
        guard let number else { return nil }
        guard number < 1 << Self.roomBits else {
            throw SQLiteError(code: .full, message: "\(database.path): too many rooms for one index")
        }
        if numbers.count >= Self.numbersMax { numbers.removeAll() }
        numbers[life] = number
        return number
    }

    private static let numbersMax = 4_096

    /// The rooms that it has something of, or had; nil: more than `limit`.
    func rooms(atMost limit: Int) throws(SQLiteError) -> [Incarnation]? {
        let all = try database.cached("SELECT incarnation FROM room LIMIT ?")
        all.bind(1, limit + 1)
        defer { all.reset() }
        var lives: [Incarnation] = []
        while try all.step() { lives.append(Incarnation(all.bits(0))) }
        return lives.count <= limit ? lives : nil
    }

    private func lastRoom() throws(SQLiteError) -> Int64? {
        let last = try database.cached("SELECT max(number) FROM room")
        defer { last.reset() }
        return try last.step() ? last.int64(0) : nil
    }

    // MARK: - Cleaning

    /// Writes one dirty block anew, without what was deleted. False when none is dirty.
    func scrub() throws -> Bool {
        guard let place = blocks.firstIndex(where: \.isDirty) else { return false }
        let number = blocks[place].number
        needsTruncation = true
        try database.transaction { () throws(SQLiteError) in
            try database.execute("INSERT INTO block_\(number) (block_\(number)) VALUES ('optimize')")
            var block = blocks[place]
            block.isDirty = false
            try save(block)
        }
        blocks[place].isDirty = false
        return true
    }

    /// Empties the write-ahead log, which also has what was deleted. False when a reader is in the way.
    func truncate() throws -> Bool {
        guard needsTruncation else { return true }
        needsTruncation = try !database.checkpoint(.truncate).isComplete
        return !needsTruncation
    }

    func checkpointIfLarge() throws {
        if database.writeAheadLogPages >= 1_000 { _ = try database.checkpoint(.passive) }
    }
}
