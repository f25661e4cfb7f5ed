import Consensus
import SQLite

/// The log's tables. Entries of all groups go to the end of one table, because a table keyed by group and index
/// touches a page per group and commit, which costs a third of the throughput (measured).
final class LogTable {
    /// "CRlg", so that tools can tell what the file is.
    static let applicationID: Int64 = 0x4352_6C67
    /// The entries are rows of this file. Also of what stands in the entries: a program that would understand them
    /// otherwise must not apply them.
    static let rowsVersion: Int64 = 2
    /// Transactions are written to segments beside this file (`SegmentHome`). It may still have rows of entries.
    static let segmentsVersion: Int64 = 3

    let database: Database
    private let insertStatement: Statement
    private let deleteStatement: Statement
    private let readStatement: Statement
    private let stateStatement: Statement

    private static let schema = """
        CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), identity INTEGER NOT NULL);
        CREATE TABLE consensus_group (
            number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, state BLOB NOT NULL);
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, group_number INTEGER NOT NULL, log_index INTEGER NOT NULL, term INTEGER NOT NULL,
            kind INTEGER NOT NULL, checksum INTEGER NOT NULL, payload BLOB NOT NULL);
        PRAGMA application_id = \(applicationID);
        """

    /// Whether the file holds a log: it may also be empty because its making was cut short.
    static func isMade(_ database: Database) throws(SQLiteError) -> Bool {
        let statement = try database.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'store'")
        return try statement.step() && statement.int64(0) == 1
    }

    static func make(_ database: Database, identity: UInt64, version: Int64) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute(schema)
            try database.execute("PRAGMA user_version = \(version)")
            let statement = try database.prepare("INSERT INTO store (id, identity) VALUES (1, ?)")
            statement.bind(bits: identity, 1)
            try statement.run()
        }
    }

    /// Which program and version has written the file; zeros when nobody has yet.
    static func format(_ database: Database) throws(SQLiteError) -> (applicationID: Int64, version: Int64) {
        (
            try number(database, "PRAGMA application_id") ?? 0, try number(database, "PRAGMA user_version") ?? 0
        )
    }

    /// Nil when the table is empty.
    static func identity(_ database: Database) throws(SQLiteError) -> UInt64? {
        try number(database, "SELECT identity FROM store").map { UInt64(bitPattern: $0) }
    }

    private static func number(_ database: Database, _ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }

    func setVersion(_ version: Int64) throws(SQLiteError) {
        try database.execute("PRAGMA user_version = \(version)")
    }

    /// Writes what is there already.
    func touch() throws(SQLiteError) { try database.execute("UPDATE store SET identity = identity") }

    init(_ database: Database) throws(SQLiteError) {
        self.database = database
        insertStatement = try database.prepare(
            "INSERT INTO entry (id, group_number, log_index, term, kind, checksum, payload) VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        deleteStatement = try database.prepare("DELETE FROM entry WHERE id = ?")
        readStatement = try database.prepare(
            "SELECT group_number, log_index, term, kind, checksum, payload FROM entry WHERE id = ?")
        stateStatement = try database.prepare(
            "INSERT OR REPLACE INTO consensus_group (number, checksum, state) VALUES (?, ?, ?)")
    }

    func insert(_ entry: Entry, group: GroupID, row: Int64) throws(SQLiteError) {
        let checksum = entry.payload.withUnsafeBytes {
            CRC32C.ofEntry(
                group: group.number, index: entry.index, term: entry.term, kind: entry.kind.rawValue, payload: $0)
        }
        insertStatement.bind(1, row)
        insertStatement.bind(2, Int64(group.number))
        insertStatement.bind(bits: entry.index, 3)
        insertStatement.bind(bits: entry.term, 4)
        insertStatement.bind(5, Int64(entry.kind.rawValue))
        insertStatement.bind(6, Int64(checksum))
        insertStatement.bind(7, entry.payload)
        try insertStatement.run()
    }

    func delete(row: Int64) throws(SQLiteError) {
        deleteStatement.bind(1, row)
        try deleteStatement.run()
    }

    func write(_ state: GroupState, group: GroupID) throws(SQLiteError) {
        let bytes = state.encoded()
        stateStatement.bind(1, Int64(group.number))
        stateStatement.bind(2, Int64(CRC32C.of(bytes)))
        stateStatement.bind(3, bytes)
        try stateStatement.run()
    }

    /// Whether anything is in the tables that segments take the place of.
    func hasRows() throws(SQLiteError) -> Bool {
        try Self.number(
            database, "SELECT EXISTS (SELECT 1 FROM entry) OR EXISTS (SELECT 1 FROM consensus_group)") == 1
    }

    /// Deletes a part of what is in these tables, the states last. False: there was nothing left.
    func clear(rowsMax: Int) throws(SQLiteError) -> Bool {
        try database.transaction { () throws(SQLiteError) in
            for name in ["entry", "consensus_group"] {
                let column = name == "entry" ? "id" : "number"
                try database.execute(
                    "DELETE FROM \(name) WHERE \(column) IN (SELECT \(column) FROM \(name) LIMIT \(rowsMax))")
                if database.changes > 0 { return true }
            }
            return false
        }
    }

    /// The entry in a row; nil when the row is not there or is not what was written.
    func entry(row: Int64, group: GroupID) throws(SQLiteError) -> Entry? {
        readStatement.bind(1, row)
        defer { readStatement.reset() }
        guard try readStatement.step(), let header = EntryHeader(readStatement, firstColumn: 0),
            header.group == group
        else { return nil }
        return Entry(index: header.index, term: header.term, kind: header.kind, payload: readStatement.bytes(5))
    }
}

/// A row of the entry table without its payload, which has been checked against the checksum.
struct EntryHeader {
    var group: GroupID
    var index: UInt64
    var term: UInt64
    var kind: Entry.Kind

    /// Reads group, index, term, kind, checksum and payload; nil when they do not fit together.
    init?(_ statement: Statement, firstColumn column: Int32) {
        guard let number = UInt16(exactly: statement.int64(column)),
            let raw = UInt8(exactly: statement.int64(column + 3)), let kind = Entry.Kind(rawValue: raw)
        else { return nil }
        group = GroupID(number)
        index = statement.bits(column + 1)
        term = statement.bits(column + 2)
        self.kind = kind
        let (index, term) = (index, term)
        let checksum = statement.withBytes(column + 5) {
            CRC32C.ofEntry(group: number, index: index, term: term, kind: raw, payload: $0)
        }
        guard statement.int64(column + 4) == Int64(checksum) else { return nil }
    }
}
