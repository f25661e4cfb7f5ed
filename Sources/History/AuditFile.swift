import ChatModel
import SQLite
import Synchronization

/// A record of who did what, newest last, on a thread of its own: nobody waits for its disk.
///
/// Appended rows are written soon after; a power cut may lose the newest rows, never the order. Rows go after the
/// retention, and the oldest ones beyond `rowsMax`.
public final class AuditFile: Sendable {
    public struct Row: Sendable, Hashable {
        /// Ascending, never used twice.
        public var id: Int64
        public var payload: [UInt8]
    }

    private struct Pending {
        var rows: [(time: Timestamp, payload: [UInt8])] = []
        var isScheduled = false
    }

    /// Rows that may wait for the disk; further ones are not taken.
    public static let pendingMax = 10_000
    /// Rows in the file: a few hundred megabytes.
    public static let rowsMax: Int64 = 2_000_000

    private let thread = StorageThread("audit", isInBackground: true)
    private let pending = Mutex(Pending())
    private let retentionDays: Int64
    private let now: @Sendable () -> Timestamp

    private init(retentionDays: Int64, now: @escaping @Sendable () -> Timestamp) {
        self.retentionDays = retentionDays
        self.now = now
    }

    /// Opens or makes the file. Blocks: at start only. Throws when it can't be used.
    /// - Parameter level: the cluster's feature level: the file is of the format that it brings.
    public static func open(
        path: String, retentionDays: Int64, level: FeatureLevel = .newest, now: @escaping @Sendable () -> Timestamp
    ) throws -> AuditFile {
        let file = AuditFile(retentionDays: retentionDays, now: now)
        let cutoff = file.cutoff
        let result = file.thread.ask { worker -> Result<Void, StorageError> in
            do {
                let table = try AuditTable(path: path, level: level)
                worker.audit = table
                try table.prune(before: cutoff, rowsMax: rowsMax)
                return .success(())
            } catch {
                return .failure(
                    (error as? StorageError) ?? (error as? SQLiteError).map(StorageError.init)
                        ?? StorageError(.io, "\(error)"))
            }
        }
        switch result {
        case .success?: return file
        case .failure(let error)?:
            file.close()
            throw error
        case nil: throw StorageError(.closed, "the audit was closed")
        }
    }

    private var cutoff: Timestamp { now().adding(seconds: -retentionDays * 86_400) }

    /// Takes a row. False when too many wait.
    public func append(_ payload: [UInt8], time: Timestamp) -> Bool {
        let taken: Bool? = pending.withLock { pending in
            guard pending.rows.count < Self.pendingMax else { return nil }
            pending.rows.append((time, payload))
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if taken == true { thread.submit { [self] in write($0) } }
        return taken != nil
    }

    private func write(_ worker: StorageWorker) {
        let rows = pending.withLock { pending in
            defer {
                pending.rows = []
                pending.isScheduled = false
            }
            return pending.rows
        }
        do throws(SQLiteError) {
            try worker.audit?.append(rows)
            try worker.audit?.pruneIfDue(before: cutoff, rowsMax: Self.rowsMax)
        } catch {
            // Kept in front of what has come since, and tried again; the bound holds for both.
            let isFree = pending.withLock { pending in
                pending.rows = rows + pending.rows
                defer { pending.isScheduled = true }
                return !pending.isScheduled
            }
            if isFree { thread.submit(after: .seconds(1)) { [self] in write($0) } }
        }
    }

    /// Rows within the retention, newest first, behind what was appended before.
    /// - Parameter before: only rows with a lower ID.
    public func page(before: Int64?, limit: Int) async -> Result<[Row], StorageError> {
        let cutoff = cutoff
        return await withCheckedContinuation { continuation in
            thread.submit { worker in
                do throws(SQLiteError) {
                    let rows = try worker.audit?.page(before: before ?? .max, since: cutoff, limit: limit)
                    continuation.resume(returning: .success(rows ?? []))
                } catch {
                    continuation.resume(returning: .failure(StorageError(error)))
                }
            }
        }
    }

    /// Writes what waits and closes the file. Blocks until then; call it when nobody reads any more.
    public func close() { thread.stop() }
}

/// The file, on its thread.
final class AuditTable {
    /// "CRau"
    private static let format = DatabaseFormat(
        what: "an audit", applicationID: 0x4352_6175, version: 1,
        schema: """
            CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, payload BLOB NOT NULL);
            CREATE INDEX audit_time ON audit (time);
            """)

    private let database: Database
    private var rowsSincePrune = 0
    private static let rowsBetweenPrunes = 1_000

    /// - Parameter level: the cluster's feature level.
    init(path: String, level: FeatureLevel) throws {
        var options = DatabaseOptions()
        options.create = true
        options.synchronous = .normal
        options.exclusive = true
        options.checkpointPages = 1_000
        options.cacheKilobytes = 512
        let database = try Database(path: path, options: options)
        do {
            try Self.format.prepare(database, at: level)
        } catch {
            database.close()
            throw error
        }
        self.database = database
    }

    func close() { database.close() }

    func append(_ rows: [(time: Timestamp, payload: [UInt8])]) throws(SQLiteError) {
        let insert = try database.cached("INSERT INTO audit (time, payload) VALUES (?, ?)")
        try database.transaction { () throws(SQLiteError) in
            for row in rows {
                insert.bind(1, row.time.milliseconds)
                insert.bind(2, row.payload)
                try insert.run()
            }
        }
        rowsSincePrune += rows.count
    }

    func pruneIfDue(before cutoff: Timestamp, rowsMax: Int64) throws(SQLiteError) {
        guard rowsSincePrune >= Self.rowsBetweenPrunes else { return }
        try prune(before: cutoff, rowsMax: rowsMax)
    }

    func prune(before cutoff: Timestamp, rowsMax: Int64) throws(SQLiteError) {
        rowsSincePrune = 0
        let old = try database.cached("DELETE FROM audit WHERE time < ?")
        old.bind(1, cutoff.milliseconds)
        try old.run()
        let many = try database.cached("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?")
        many.bind(1, rowsMax)
        try many.run()
    }

    func page(before: Int64, since cutoff: Timestamp, limit: Int) throws(SQLiteError) -> [AuditFile.Row] {
        let select = try database.cached(
            "SELECT id, payload FROM audit WHERE id < ? AND time >= ? ORDER BY id DESC LIMIT ?")
        select.bind(1, before)
        select.bind(2, cutoff.milliseconds)
        select.bind(3, limit)
        var rows: [AuditFile.Row] = []
        while try select.step() { rows.append(AuditFile.Row(id: select.int64(0), payload: select.bytes(1))) }
        return rows
    }
}
