import Consensus
import SQLite

/// The opening of a log: finding or making it, verifying every row, comparing it with the marks.
struct LogOpening {
    var table: LogTable
    var store: UInt64
    var logs: [GroupID: GroupLog] = [:]
    var marks: Marks
    /// Rows that were trimmed but not deleted yet.
    var useless: [Int64] = []
    var lastRow: Int64 = 0

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
            guard format.version == LogTable.version else { throw Refusal.otherVersion(database.path, format.version) }
        }
        if configuration.create {
            try LogTable.make(database, identity: makeIdentity())
            try FileSystem.syncDirectory(of: database.path)
        } else {
            try FileSystem.rewrite(database.path + "-wal")
        }
        guard let identity = try LogTable.identity(database) else { throw Refusal.damaged("the table store is empty") }
        store = identity
        table = try LogTable(database)
        marks = Marks(store: store)
        try readStates()
        try readEntries()
        try compareMarks(configuration)
        // Whatever was found is brought to the database file and synced once more: the process before this one may
        // have ended because a sync failed, and then the log that was read is not certainly the log on the disk.
        guard try database.checkpoint(.truncate).isComplete else { throw Refusal.busy }
    }

    // MARK: - Verification

    private mutating func readStates() throws {
        let statement = try table.database.prepare("SELECT number, checksum, state FROM consensus_group")
        while try statement.step() {
            let bytes = statement.bytes(2)
            guard let number = UInt16(exactly: statement.int64(0)), statement.int64(1) == Int64(CRC32C.of(bytes)),
                let state = GroupState(encoded: bytes)
            else { throw Refusal.damaged("the state of group \(statement.int64(0)) does not match its checksum") }
            let log = GroupLog()
            log.state = state
            logs[GroupID(number)] = log
        }
    }

    private mutating func readEntries() throws {
        let statement = try table.database.prepare(
            "SELECT id, group_number, log_index, term, kind, checksum, payload FROM entry ORDER BY id")
        // The rows of one group mostly stand together; this spares looking it up for each.
        var current: (group: GroupID, log: GroupLog)?
        while try statement.step() {
            lastRow = statement.int64(0)
            guard let header = EntryHeader(statement, firstColumn: 1) else {
                throw Refusal.damaged("row \(lastRow) does not match its checksum")
            }
            let log: GroupLog
            if let current, current.group == header.group {
                log = current.log
            } else {
                // A group's first save writes its state, so entries without one have lost it.
                guard let found = logs[header.group] else {
                    throw Refusal.damaged("group \(header.group.number) has entries and no state")
                }
                log = found
                current = (header.group, found)
            }
            if header.index <= log.state.trimmed.index {
                useless.append(lastRow)
                continue
            }
            guard header.index == log.lastIndex + 1 else {
                throw Refusal.damaged(
                    "group \(header.group.number) continues with entry \(header.index) after \(log.lastIndex)")
            }
            guard header.term >= log.term(at: log.lastIndex) ?? 0 else {
                throw Refusal.damaged("the term falls at entry \(header.index) of group \(header.group.number)")
            }
            log.append(row: lastRow, index: header.index, term: header.term, kind: header.kind)
        }
    }

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
            LogStoreError(.unsupported, FileVersion.sentence(path, found: found, own: LogTable.version))
        case Refusal.otherMarks(let path, let found):
            LogStoreError(.unsupported, FileVersion.sentence(path, found: found, own: Marks.version))
        case Refusal.busy:
            LogStoreError(.inUse, "The log in \(directory) is open elsewhere.")
        case Refusal.damaged(let what):
            LogStoreError(.corrupt, "The log in \(directory) is damaged: \(what). \(LogStoreError.advice(directory))")
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

extension GroupLog {
    var mark: Marks.Mark {
        Marks.Mark(
            term: state.hardState.term, vote: state.hardState.votedFor,
            last: LogPosition(index: lastIndex, term: term(at: lastIndex) ?? 0))
    }
}
