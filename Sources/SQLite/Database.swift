import CSQLite
import CShims
import Glibc

/// A connection to an SQLite file.
///
/// It belongs to the thread that opened it, and every use from another thread stops the process: SQLite's own locking
/// is off, so such a use would corrupt memory silently.
public final class Database {
    let handle: OpaquePointer
    private let owner: pthread_t
    /// Outlives the statements' C callbacks: where the write-ahead-log hook leaves its page count.
    private let writeAheadLogPagesCell: UnsafeMutablePointer<Int32>
    private var isOpen = true
    public let path: String

    /// Opens `path`. Throws `.cannotOpen` when it is missing and `options.create` is not set.
    public init(path: String, options: DatabaseOptions) throws(SQLiteError) {
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
        flags |= options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        if options.create, !options.readOnly { flags |= SQLITE_OPEN_CREATE }
        var opened: OpaquePointer?
        let result = sqlite3_open_v2(path, &opened, flags, options.vfs)
        guard result == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw SQLiteError(result: result, message: "\(path): \(message)")
        }
        handle = opened
        owner = pthread_self()
        self.path = path
        writeAheadLogPagesCell = .allocate(capacity: 1)
        writeAheadLogPagesCell.initialize(to: 0)
        try configure(options)
    }

    deinit {
        // Statements keep their connection, so there are none left.
        if isOpen { sqlite3_close_v2(handle) }
        writeAheadLogPagesCell.deallocate()
    }

    /// Closes the connection and its statements, which must not be used any more.
    public func close() {
        checkThread()
        guard isOpen else { return }
        isOpen = false
        cache.removeAll()
        for statement in statements { sqlite3_finalize(statement) }
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    private func configure(_ options: DatabaseOptions) throws(SQLiteError) {
        try check(chatroom_sqlite_trusted_schema_off(handle))
        if options.leavesWriteAheadLogOnClose {
            try check(chatroom_sqlite_no_checkpoint_on_close(handle))
        }
        try check(sqlite3_busy_timeout(handle, options.busyTimeoutMilliseconds))
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA mmap_size = 0")
        try execute("PRAGMA cache_size = \(-Int(options.cacheKilobytes))")
        try execute("PRAGMA secure_delete = \(options.secureDelete ? "ON" : "OFF")")
        // Before the journal mode: a connection that is exclusive from the start keeps the index in its own memory.
        if options.exclusive { try execute("PRAGMA locking_mode = EXCLUSIVE") }
        if !options.readOnly, options.writeAheadLog {
            let mode = try prepare("PRAGMA journal_mode = WAL")
            guard try mode.step(), mode.text(0) == "wal" else {
                throw SQLiteError(code: .io, message: "\(path): cannot use a write-ahead log here")
            }
            mode.reset()
        }
        try execute("PRAGMA synchronous = \(options.synchronous.rawValue)")
        if options.checkpointPages > 0 {
            try check(sqlite3_wal_autocheckpoint(handle, options.checkpointPages))
        } else {
            // The hook takes the place of automatic checkpoints (https://sqlite.org/c3ref/wal_hook.html).
            _ = sqlite3_wal_hook(
                handle,
                { cell, _, _, pages in
                    cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                    return SQLITE_OK
                }, writeAheadLogPagesCell)
        }
    }

    // MARK: - Statements

    private var cache: [String: Statement] = [:]
    /// All that have not been finalized: an open one would keep the file and its locks after `close`.
    private var statements: Set<OpaquePointer> = []

    func add(_ statement: OpaquePointer) { statements.insert(statement) }

    func finalize(_ statement: OpaquePointer) {
        if statements.remove(statement) != nil { sqlite3_finalize(statement) }
    }

    /// Compiles `sql`, which must be one statement. The caller keeps it.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        checkThread()
        return try Statement(sql, database: self)
    }

    /// The statement for `sql`, compiled once and kept with the connection. For a fixed, small set of texts.
    public func cached(_ sql: String) throws(SQLiteError) -> Statement {
        checkThread()
        if let statement = cache[sql] {
            statement.reset()
            return statement
        }
        let statement = try Statement(sql, database: self)
        cache[sql] = statement
        return statement
    }

    /// Runs any number of statements without parameters or rows.
    public func execute(_ sql: String) throws(SQLiteError) {
        checkThread()
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    // MARK: - Transactions

    public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    public func begin() throws(SQLiteError) { try cached("BEGIN IMMEDIATE").run() }

    public func commit() throws(SQLiteError) { try cached("COMMIT").run() }

    /// Undoes the open transaction; nothing when SQLite has already undone it after an error.
    public func rollback() throws(SQLiteError) {
        if isInTransaction { try cached("ROLLBACK").run() }
    }

    /// Runs `body`, which only reads, on one state of the file: with one lock and not with one for each statement. Within
    /// another one the state is that one's.
    public func readTransaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        guard !isInTransaction else { return try body() }
        try cached("BEGIN").run()
        // Nothing was written, and what was read stands whatever becomes of the lock.
        defer { do throws(SQLiteError) { try rollback() } catch {} }
        return try body()
    }

    /// Runs `body` in a transaction, which is undone when `body` or the commit throws.
    public func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try begin()
        do throws(SQLiteError) {
            let value = try body()
            try commit()
            return value
        } catch {
            // The first error is the one to tell; after a failed rollback the connection refuses the next `begin`.
            do throws(SQLiteError) { try rollback() } catch {}
            throw error
        }
    }

    // MARK: - Write-ahead log

    /// Pages in the write-ahead log after the last commit; only while `checkpointPages` is 0.
    public var writeAheadLogPages: Int { Int(writeAheadLogPagesCell.pointee) }

    public enum CheckpointMode: Sendable, Hashable {
        /// As much as readers and writers allow, without waiting for them.
        case passive
        /// Waits, up to the busy timeout, for readers of older states.
        case full
        /// As `full`, and also empties the file.
        case truncate
    }

    public struct CheckpointResult: Sendable, Hashable {
        /// Pages in the write-ahead log.
        public var pages: Int
        /// How many of them are in the database file now, and synced.
        public var checkpointed: Int
        /// Everything that was committed is in the database file.
        public var isComplete: Bool { pages == checkpointed }
    }

    /// Copies the write-ahead log into the database file and syncs both (unless `synchronous` is off). An incomplete
    /// checkpoint because of other connections is a result, not an error.
    public func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        checkThread()
        var pages: Int32 = 0
        var done: Int32 = 0
        let code =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        let result = sqlite3_wal_checkpoint_v2(handle, "main", code, &pages, &done)
        if result & 0xFF == SQLITE_BUSY { return CheckpointResult(pages: max(1, Int(pages)), checkpointed: 0) }
        try check(result)
        return CheckpointResult(pages: Int(pages), checkpointed: Int(done))
    }

    /// Rows that the last statement put, changed or removed.
    public var changes: Int { Int(sqlite3_changes64(handle)) }

    // MARK: - Checks

    func check(_ result: Int32) throws(SQLiteError) {
        guard result == SQLITE_OK else { throw error(result) }
    }

    func error(_ result: Int32) -> SQLiteError {
        SQLiteError(result: result, message: "\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }

    @inline(__always)
    func checkThread() {
        precondition(pthread_equal(owner, pthread_self()) != 0, "a database was used by a thread that did not open it")
    }
}
