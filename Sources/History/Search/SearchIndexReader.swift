import ChatModel
import SQLite

/// A reading connection to the index of one day file. Used by one reader thread only.
final class SearchIndexReader {
    /// A part of the index, as a search sees it.
    struct Block {
        var number: Int64
        /// All messages of this time and later are in this block or a later one.
        var firstTime: Timestamp
    }

    /// So many places of words in a block are looked at before the first message is found, without a look at the clock.
    static let placesMax: Int64 = 20_000

    private let database: Database
    private var statements: [Int64: Statement] = [:]
    private var counts: [Int64: Statement] = [:]

    init(path: String, vfs: String?) throws(SQLiteError) {
        var options = DatabaseOptions()
        options.readOnly = true
        options.leavesWriteAheadLogOnClose = true
        options.busyTimeoutMilliseconds = 100
        options.cacheKilobytes = 1024
        options.vfs = vfs
        database = try Database(path: path, options: options)
        do throws(SQLiteError) {
            try database.register(tokenizer: IndexTokenizer.self, as: IndexTokenizer.name)
        } catch {
            database.close()
            throw error
        }
    }

    func close() { database.close() }

    /// The blocks up to a number, the newest first.
    func blocks(upTo number: Int64) throws(SQLiteError) -> [Block] {
        let select = try database.cached("SELECT number, first_time FROM block WHERE number <= ? ORDER BY number DESC")
        select.bind(1, number)
        defer { select.reset() }
        var blocks: [Block] = []
        while try select.step() {
            blocks.append(Block(number: select.int64(0), firstTime: Timestamp(select.int64(1))))
        }
        return blocks
    }

    /// The seqs within `seqs` of messages in a block that may fit, the newest first, at most `limit`.
    func seqs(_ expression: String, in block: Int64, _ seqs: ClosedRange<Int64>, limit: Int) throws(SQLiteError)
        -> [Int64]
    {
        let statement = try statement(block)
        let rows = SearchIndexFile.rowIDs(seqs)
        statement.bind(1, expression)
        statement.bind(2, rows.lowerBound)
        statement.bind(3, rows.upperBound)
        statement.bind(4, limit)
        defer { statement.reset() }
        var found: [Int64] = []
        while try statement.step() { found.append(SearchIndexFile.seq(statement.int64(0))) }
        return found
    }

    /// The MATCH expression for a block. It leaves out words with whose beginning there are more than `placesMax` places: the
    /// index brings all of them into one order before it gives the first, which takes seconds where members have sent
    /// millions of different words. Messages are looked at anyway, and such words are found soon without the index. Behind
    /// twice as many places no more words are asked for.
    /// - Returns: nil when nothing is left to look for.
    func expression(_ pattern: IndexPattern, in block: Int64) throws(SQLiteError) -> String? {
        var kept: [String] = []
        var counted: Int64 = 0
        for word in pattern.words where counted < 2 * Self.placesMax {
            let places = try places(word, in: block)
            counted += places
            if places <= Self.placesMax { kept.append(word) }
        }
        return pattern.expression(kept)
    }

    /// The places of words with that beginning, as far as they are counted.
    private func places(_ beginning: String, in block: Int64) throws(SQLiteError) -> Int64 {
        let count = try count(block)
        count.bind(1, beginning)
        // Terms are compared by their bytes.
        count.bind(2, beginning + "\u{10FFFF}")
        count.bind(3, Self.placesMax + 1)
        defer { count.reset() }
        return try count.step() ? count.int64(0) : 0
    }

    private func count(_ block: Int64) throws(SQLiteError) -> Statement {
        if let known = counts[block] { return known }
        // A table of this connection alone: nothing is written to the file.
        try database.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places_\(block) USING fts5vocab('main', 'block_\(block)', 'instance')"
        )
        let made = try database.prepare(
            "SELECT count(*) FROM (SELECT 1 FROM temp.places_\(block) WHERE term >= ? AND term <= ? LIMIT ?)")
        counts[block] = made
        return made
    }

    private func statement(_ block: Int64) throws(SQLiteError) -> Statement {
        if let known = statements[block] { return known }
        let made = try database.prepare(
            """
            SELECT rowid FROM block_\(block) WHERE block_\(block) MATCH ? AND rowid BETWEEN ? AND ?
            ORDER BY rowid DESC LIMIT ?
            """)
        statements[block] = made
        return made
    }
}

/// The indexes that one reader thread has open: the ones used last, at most a fixed number.
final class SearchReaderCache {
    struct Key: Hashable {
        var file: ReaderCache.Key
        /// An index that was made anew is another one under the same name.
        var generation: UInt64
    }

    /// Ten days of each of eight shards.
    private static let filesMax = 80

    private var files: [Key: (reader: SearchIndexReader, used: UInt64)] = [:]
    private var uses: UInt64 = 0

    func reader(_ key: Key, path: String, vfs: String?) throws(SQLiteError) -> SearchIndexReader {
        uses += 1
        if let open = files[key] {
            files[key] = (open.reader, uses)
            return open.reader
        }
        close(key.file)
        if files.count >= Self.filesMax, let oldest = files.min(by: { $0.value.used < $1.value.used }) {
            files.removeValue(forKey: oldest.key)?.reader.close()
        }
        let reader = try SearchIndexReader(path: path, vfs: vfs)
        files[key] = (reader, uses)
        return reader
    }

    func close(_ file: ReaderCache.Key) {
        for key in files.keys where key.file == file { files.removeValue(forKey: key)?.reader.close() }
    }

    func closeAll(of storage: UInt64? = nil) {
        for key in files.keys where storage == nil || key.file.storage == storage {
            files.removeValue(forKey: key)?.reader.close()
        }
    }
}
