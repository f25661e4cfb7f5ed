import Consensus
import SQLite

/// The opening of a log: finding or making it, verifying every row, comparing it with the marks.
struct LogOpening {
    var home: any LogHome
    var store: UInt64
    var logs: [GroupID: GroupEntries] = [:]
    var marks: Marks

    static func databasePath(_ directory: String) -> String { directory + "/log.sqlite" }
    /// Written to see whether the disk takes anything, and removed at once.
    static func probePath(_ directory: String) -> String { directory + "/log.probe" }
    static func marksPath(_ directory: String) -> String { directory + "/log.marks" }

    /// To be called on the thread that will own the database.
    init(_ configuration: LogStoreConfiguration, makeIdentity: () -> UInt64) throws(LogStoreError) {
        let directory = configuration.directory
        do {
            if configuration.create { try FileSystem.makeDirectory(directory) }
            let path = Self.databasePath(directory)
            guard configuration.create || FileSystem.exists(path) else { throw Refusal.missing }
            // SQLite would delete the write-ahead log of an empty file.
            if !configuration.create, FileSystem.size(path) == 0, FileSystem.size(path + "-wal") ?? 0 > 0 {
                throw Refusal.damaged("log.sqlite is empty, and its write-ahead log is not")
            }
            let database = try Database(path: path, options: Self.options(configuration))
            do {
                try self.init(database, configuration, makeIdentity)
            } catch {
                database.close()
                throw error
            }
        } catch {
            throw Self.explanation(of: error, directory)
        }
    }

    private static func options(_ configuration: LogStoreConfiguration) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.create = configuration.create
        options.exclusive = true
        options.synchronous = .full
        options.checkpointPages = 0
        // This program decides what is checkpointed: closing a log that was refused must not make the damage permanent,
        // and after a failed sync the pages that SQLite would copy are not to be trusted.
        options.leavesWriteAheadLogOnClose = true
        options.cacheKilobytes = 4096
        options.vfs = configuration.vfs
        return options
    }

    private init(_ database: Database, _ configuration: LogStoreConfiguration, _ makeIdentity: () -> UInt64) throws {
        // Takes the exclusive lock, which is then kept. Nothing has been read or changed yet.
        try database.transaction {}
        if let objection = try WriteAheadLogCheck.objection(to: database.path + "-wal") {
            throw Refusal.damaged(objection)
        }
        let format = try LogTable.format(database)
        let isNobodys = format.applicationID == 0 && format.version == 0
        let isMade = try !isNobodys || LogTable.isMade(database)
        guard isMade != configuration.create else { throw isMade ? Refusal.exists : Refusal.missing }
        if isMade {
            guard format.applicationID == LogTable.applicationID else {
                throw Refusal.foreign(format.applicationID)
            }
            guard format.version == LogTable.rowsVersion || format.version == LogTable.segmentsVersion else {
                throw Refusal.otherVersion(database.path, format.version)
            }
        }
        var version = format.version
        if configuration.create {
            version = configuration.makesSegments ? LogTable.segmentsVersion : LogTable.rowsVersion
            try LogTable.make(database, identity: makeIdentity(), version: version)
            try FileSystem.syncDirectory(of: database.path)
        } else {
            try FileSystem.rewrite(database.path + "-wal")
        }
        guard let identity = try LogTable.identity(database) else { throw Refusal.damaged("the table store is empty") }
        store = identity
        marks = Marks(store: store)
        let table = try LogTable(database)
        var segments: SegmentOpening?
        if version == LogTable.segmentsVersion {
            (home, logs, segments) = try Self.openSegments(configuration, table, store: identity)
        } else {
            let rows = try TableReading(table)
            home = TableHome(
                table, useless: rows.useless, lastRow: rows.lastRow, checkpointPages: configuration.checkpointPages)
            logs = rows.logs
        }
        do {
            try compareMarks(configuration)
            try segments?.settle()
        } catch {
            segments?.close()
            throw error
        }
        // Whatever was found is brought to the database file and synced once more: the process before this one may
        // have ended because a sync failed, and then the log that was read is not certainly the log on the disk.
        guard try database.checkpoint(.truncate).isComplete else { throw Refusal.busy }
    }

    private static func openSegments(
        _ configuration: LogStoreConfiguration, _ table: LogTable, store: UInt64
    ) throws -> (any LogHome, [GroupID: GroupEntries], SegmentOpening) {
        var segments = try SegmentOpening(configuration, store: store, table: table)
        do {
            if let read = try segments.read(rows: { try TableReading.rows(of: table) }) {
                return (read.home, read.logs, segments)
            }
            // The log has been converted and not been written to since.
            let logs = try TableReading(table).logs
            return (try segments.home(logs: logs), logs, segments)
        } catch {
            segments.close()
            throw error
        }
    }

    // MARK: - Marks

    private mutating func compareMarks(_ configuration: LogStoreConfiguration) throws {
        let path = Self.marksPath(configuration.directory)
        if configuration.create {
            try FileSystem.replace(path, with: marks.encoded(), by: configuration.files)
            return
        }
        guard let bytes = try FileSystem.read(path, bytesMax: 1 << 24) else {
            // The making of the log may have ended between its two files; nothing was saved then.
            guard logs.isEmpty else {
                throw Refusal.unmarked("\(path), which tells how far the log had come, is missing", .behindMarks)
            }
            try FileSystem.replace(path, with: marks.encoded(), by: configuration.files)
            return
        }
        guard let found = Marks(encoded: bytes) else {
            if let version = Marks.otherVersion(of: bytes) { throw Refusal.otherMarks(path, version) }
            throw Refusal.unmarked("\(path) is damaged", .corrupt)
        }
        guard found.store == store else {
            throw Refusal.unmarked(
                "\(path) was written by another store (\(found.store), this one is \(store))", .behindMarks)
        }
        if let objection = found.objection(to: logs) {
            throw Refusal.behind(objection)
        }
        for (group, log) in logs { marks.groups[group] = log.mark }
    }

    // MARK: - Refusals

    private enum Refusal: Error {
        case missing, exists, busy
        case foreign(_ applicationID: Int64)
        case otherVersion(_ path: String, _ found: Int64)
        case otherMarks(_ path: String, _ found: Int64)
        case damaged(String)
        case behind(String)
        /// Nothing contradicts the log, but what would show that it is whole can't be used.
        case unmarked(String, LogStoreError.Code)
    }

    /// The explanation for an operator.
    private static func explanation(of error: any Error, _ directory: String) -> LogStoreError {
        switch error {
        case Refusal.missing:
            LogStoreError(
                .missing,
                """
                There is no log in \(directory). A node without a log is a new server: it is made by creating a \
                cluster or by joining one, not by starting.
                """)
        case Refusal.exists:
            LogStoreError(.alreadyExists, "There is a log in \(directory) already; it is not overwritten.")
        case Refusal.foreign(let applicationID):
            LogStoreError(
                .unsupported,
                """
                \(databasePath(directory)) is not a log: its application_id is \(applicationID), and that of a log is \
                \(LogTable.applicationID).
                """)
        case Refusal.otherVersion(let path, let found):
            LogStoreError(
                .unsupported,
                FileVersion.sentence(
                    path, found: found, own: LogTable.segmentsVersion, oldest: LogTable.rowsVersion))
        case Refusal.otherMarks(let path, let found):
            LogStoreError(.unsupported, FileVersion.sentence(path, found: found, own: Marks.version))
        case Refusal.busy:
            LogStoreError(.inUse, "The log in \(directory) is open elsewhere.")
        case Refusal.damaged(let what):
            LogStoreError(.corrupt, "The log in \(directory) is damaged: \(what). \(LogStoreError.advice(directory))")
        case let damage as LogDamage: explanation(of: Refusal.damaged(damage.what), directory)
        case Refusal.behind(let what):
            LogStoreError(
                .behindMarks,
                "The log in \(directory) has lost entries: \(what). \(LogStoreError.advice(directory))")
        case Refusal.unmarked(let what, let code):
            LogStoreError(
                code,
                """
                The log in \(directory) can't be shown to be whole: \(what). Its entries were read without fault. If you \
                have the log.marks of the same moment as this log, put that file back and start the node again. Only \
                if you have not: \(LogStoreError.advice(directory))
                """)
        case let error as SQLiteError where error.code == .corrupt || error.code == .notADatabase:
            explanation(of: Refusal.damaged(error.message), directory)
        case let error as SQLiteError where error.code == .busy:
            LogStoreError(.inUse, "Another process has the log in \(directory) open (\(error.message)).")
        case let error as SQLiteError:
            LogStoreError(error)
        default:
            LogStoreError(.io, "\(error)")
        }
    }
}

extension GroupEntries {
    var mark: Marks.Mark {
        Marks.Mark(
            term: state.hardState.term, vote: state.hardState.votedFor,
            last: LogPosition(index: lastIndex, term: term(at: lastIndex) ?? 0))
    }
}
