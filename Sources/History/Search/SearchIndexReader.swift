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

    /// The messages of a block that may fit.
    struct Found {
        var seqs: [Int64]
        /// There are no others in it.
        var isWhole = true
    }

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

    /// The seqs within `seqs` of messages in a block that may fit, the newest first, at most `limit`, until `isOver` says that
    /// enough was done; it is asked behind each of them.
    func seqs(
        _ expression: String, in block: Int64, _ seqs: ClosedRange<Int64>, limit: Int, isOver: () -> Bool
    ) throws(SQLiteError) -> Found {
        let statement = try statement(block)
        let rows = SearchIndexFile.rowIDs(seqs)
        statement.bind(1, expression)
        statement.bind(2, rows.lowerBound)
        statement.bind(3, rows.upperBound)
        statement.bind(4, limit)
        defer { statement.reset() }
        var found = Found(seqs: [])
        while try statement.step() {
            found.seqs.append(SearchIndexFile.seq(statement.int64(0)))
            if found.seqs.count >= limit || isOver() {
                found.isWhole = false
                break
            }
        }
        return found
    }

    /// The MATCH expression for a block. It leaves out words with whose beginning there are more than `placesMax` places: the
    /// index brings all of them into one order before it gives the first, which takes seconds where members have sent
    /// millions of different words. Messages are looked at anyway, and such words are found soon without the index. Behind
    /// twice as many places only words with few of them are asked for.
    /// - Returns: nil when nothing is left to look for.
    func expression(_ pattern: IndexPattern, in block: Int64, placesMax: Int64) throws(SQLiteError) -> String? {
        var kept: [String] = []
        var left = 2 * placesMax
        for word in pattern.words {
            let limit = max(placesMax / 20, min(placesMax, left))
            let places = try places(word, in: block, limit: limit)
            left -= places
            if places <= limit { kept.append(word) }
        }
        return pattern.expression(kept)
    }

    /// The places of words with that beginning, of which not many more than `limit` are counted.
    private func places(_ beginning: String, in block: Int64, limit: Int64) throws(SQLiteError) -> Int64 {
        let count = try count(block)
        count.bind(1, beginning)
        // Terms are compared by their bytes.
        count.bind(2, beginning + "\u{10FFFF}")
        count.bind(3, limit + 1)
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
