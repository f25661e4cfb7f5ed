import ChatModel
import SQLite

/// A shard's catalogue on disk: rooms and what belongs to them, as of one applied index. Used by the shard's storage
/// thread only, whose connection is the only one that writes or checkpoints; snapshots are read by others.
final class CatalogueFile {
    // "CRca". Kind stands first, so that listing rooms does not walk over their members.
    private static let format = DatabaseFormat(
        what: "a catalogue of rooms", applicationID: 0x4352_6361, version: 2,
        schema: """
            CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), applied INTEGER NOT NULL);
            INSERT INTO meta (id, applied) VALUES (1, 0);
            CREATE TABLE catalogue (
                kind INTEGER NOT NULL, room TEXT NOT NULL, key TEXT NOT NULL, incarnation INTEGER NOT NULL,
                log_index INTEGER NOT NULL, deadline INTEGER, value BLOB NOT NULL,
                PRIMARY KEY (kind, room, key)) WITHOUT ROWID;
            CREATE INDEX catalogue_deadline ON catalogue (deadline) WHERE deadline IS NOT NULL;
            """)

    /// Not in the schema, because files of before these tables have the same version.
    private static let laterTables = """
        CREATE TABLE IF NOT EXISTS missing_history (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL);
        CREATE TABLE IF NOT EXISTS installed (id INTEGER PRIMARY KEY CHECK (id = 1), mark BLOB NOT NULL);
        """

    let database: Database
    /// Something was committed that has not been synced.
    private(set) var hasUnsyncedChanges = false
    /// The note of missing history in the file.
    private(set) var missing: MissingHistory?
    /// Whether there are `CommandRows`, which are to go when no history is missing.
    private var holdsCommandRows: Bool
    /// The caller's mark of the snapshot that the file began with; nil: it began empty.
    private(set) var installedMark: [UInt8]?
    /// The log index as of which the file is.
    private(set) var appliedIndex: UInt64
    private let nextKind: Statement
    private let load: Statement
    private let upsert: Statement
    private let delete: Statement
    private let retire: Statement
    private let setApplied: Statement
    private let rooms: Statement
    private let due: Statement

    /// - Parameter level: the cluster's feature level.
    init(path: String, vfs: String?, level: FeatureLevel = .newest) throws {
        var options = DatabaseOptions()
        options.create = true
        options.synchronous = .normal
        options.cacheKilobytes = 512
        options.busyTimeoutMilliseconds = 1_000
        options.vfs = vfs
        let database = try Database(path: path, options: options)
        do {
            try Self.format.prepare(database, at: level)
            try database.execute(Self.laterTables)
            self.database = database
            let missing = try database.prepare("SELECT value FROM missing_history")
            self.missing = try missing.step() ? MissingHistory(decoding: missing.bytes(0)) : nil
            missing.reset()
            let commands = try database.prepare("SELECT 1 FROM catalogue WHERE kind = \(CommandRows.kind) LIMIT 1")
            holdsCommandRows = try commands.step()
            commands.reset()
            let installed = try database.prepare("SELECT mark FROM installed")
            installedMark = try installed.step() ? installed.bytes(0) : nil
            installed.reset()
            let applied = try database.prepare("SELECT applied FROM meta")
            guard try applied.step() else { throw StorageError(.corrupt, "\(path): the table meta is empty") }
            appliedIndex = applied.bits(0)
            applied.reset()
            nextKind = try database.prepare("SELECT kind FROM catalogue WHERE kind > ? ORDER BY kind LIMIT 1")
            load = try database.prepare(
                "SELECT key, incarnation, log_index, deadline, value FROM catalogue WHERE kind = ? AND room = ?")
            upsert = try database.prepare(
                """
                INSERT INTO catalogue (kind, room, key, incarnation, log_index, deadline, value)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (kind, room, key) DO UPDATE SET incarnation = excluded.incarnation,
                    log_index = excluded.log_index, deadline = excluded.deadline, value = excluded.value
                WHERE excluded.log_index >= catalogue.log_index
                """)
            delete = try database.prepare(
                "DELETE FROM catalogue WHERE kind = ? AND room = ? AND key = ? AND log_index <= ?")
            retire = try database.prepare("DELETE FROM catalogue WHERE kind = ? AND room = ? AND incarnation = ?")
            setApplied = try database.prepare("UPDATE meta SET applied = ?")
            rooms = try database.prepare(
                """
                SELECT room, key, incarnation, log_index, deadline, value FROM catalogue
                WHERE kind = ? AND room > ? ORDER BY room
                """)
            due = try database.prepare(
                """
                SELECT room, kind, key, incarnation, deadline FROM catalogue
                WHERE deadline IS NOT NULL AND deadline BETWEEN ? AND ? ORDER BY deadline
                """)
        } catch {
            database.close()
            throw error
        }
    }

    func close() { database.close() }

    /// Adds rows, which do not count before the next `write(_:applied:missing:)` says as of which index they are.
    func put(_ rows: [CatalogueRow]) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            for row in rows { try write(row) }
        }
        if rows.contains(where: { $0.kind == CommandRows.kind }) { holdsCommandRows = true }
        hasUnsyncedChanges = true
    }

    /// Brings the file from its applied index to `index`, and notes what history is missing then.
    func write(
        _ changes: CatalogueChanges, applied index: UInt64, missing newMissing: MissingHistory?
    ) throws(SQLiteError) {
        let kinds = try kinds()
        try database.transaction { () throws(SQLiteError) in
            // In the order of the table, so that each page is touched once.
            for (room, change) in changes.rooms.sorted(by: { $0.key < $1.key }) {
                for incarnation in change.retired {
                    for kind in kinds { try remove(room, incarnation, kind) }
                }
                for row in change.rows.values { try write(row) }
            }
            setApplied.bind(bits: index, 1)
            try setApplied.run()
            if newMissing != missing { try note(newMissing) }
            if newMissing == nil, holdsCommandRows {
                try database.execute("DELETE FROM catalogue WHERE kind = \(CommandRows.kind)")
            }
        }
        appliedIndex = index
        missing = newMissing
        if newMissing == nil { holdsCommandRows = false }
        hasUnsyncedChanges = true
    }

    /// Notes what the file begins with.
    func put(installedMark mark: [UInt8]) throws(SQLiteError) {
        let insert = try database.cached("INSERT OR REPLACE INTO installed (id, mark) VALUES (1, ?)")
        insert.bind(1, mark)
        try insert.run()
        installedMark = mark
    }

    private func note(_ missing: MissingHistory?) throws(SQLiteError) {
        try database.cached("DELETE FROM missing_history").run()
        guard let missing else { return }
        let insert = try database.cached("INSERT INTO missing_history (id, value) VALUES (1, ?)")
        insert.bind(1, missing.encoded)
        try insert.run()
    }

    /// Syncs everything that was committed. False when others read an older state; then nothing may be counted as
    /// synced.
    func checkpoint() throws(SQLiteError) -> Bool {
        guard hasUnsyncedChanges else { return true }
        let isComplete = try database.checkpoint(.passive).isComplete
        if isComplete { hasUnsyncedChanges = false }
        return isComplete
    }

    private func remove(_ room: RoomID, _ incarnation: Incarnation, _ kind: UInt8) throws(SQLiteError) {
        retire.bind(1, Int64(kind))
        retire.bind(2, room.text)
        retire.bind(bits: incarnation.number, 3)
        try retire.run()
    }

    private func write(_ row: CatalogueRow) throws(SQLiteError) {
        guard let value = row.value else {
            delete.bind(1, Int64(row.kind))
            delete.bind(2, row.room.text)
            delete.bind(3, row.key)
            delete.bind(4, Int64(clamping: row.index))
            try delete.run()
            return
        }
        upsert.bind(1, Int64(row.kind))
        upsert.bind(2, row.room.text)
        upsert.bind(3, row.key)
        upsert.bind(bits: row.incarnation.number, 4)
        upsert.bind(5, Int64(clamping: row.index))
        upsert.bind(6, row.deadline?.milliseconds)
        upsert.bind(7, value)
        try upsert.run()
    }

    /// The kinds of rows that there are.
    private func kinds() throws(SQLiteError) -> [UInt8] {
        var kinds: [UInt8] = []
        var after: Int64 = -1
        while true {
            nextKind.bind(1, after)
            guard try nextKind.step() else { return kinds }
            after = nextKind.int64(0)
            nextKind.reset()
            if let kind = UInt8(exactly: after) { kinds.append(kind) }
        }
    }

    /// The rows of a room, `changes` included.
    func load(_ room: RoomID, _ changes: CatalogueChanges) throws(SQLiteError) -> [CatalogueRow] {
        var rows: [CatalogueRow] = []
        for kind in try kinds() {
            load.bind(1, Int64(kind))
            load.bind(2, room.text)
            while try load.step() {
                let row = CatalogueRow(
                    room: room, incarnation: Incarnation(load.bits(1)), kind: kind, key: load.text(0),
                    value: load.bytes(4), deadline: load.optionalInt64(3).map { Timestamp($0) },
                    index: UInt64(clamping: load.int64(2)))
                if !changes.hides(room, row.incarnation, kind: kind, key: row.key) { rows.append(row) }
            }
        }
        if let change = changes.rooms[room] { rows += change.rows.values.filter { $0.value != nil } }
        return rows.sorted { ($0.kind, $0.key) < ($1.kind, $1.key) }
    }

    /// The rows of a kind of which a room has one at most, in the order of room IDs, `changes` included.
    func rooms(_ kind: UInt8, after: RoomID?, limit: Int, _ changes: CatalogueChanges) throws(SQLiteError)
        -> [CatalogueRow]
    {
        var found: [CatalogueRow] = []
        rooms.bind(1, Int64(kind))
        rooms.bind(2, after?.text ?? "")
        defer { rooms.reset() }
        while found.count < limit, try rooms.step() {
            guard let room = RoomID(rooms.text(0)) else { continue }
            let row = CatalogueRow(
                room: room, incarnation: Incarnation(rooms.bits(2)), kind: kind, key: rooms.text(1),
                value: rooms.bytes(5), deadline: rooms.optionalInt64(4).map { Timestamp($0) },
                index: UInt64(clamping: rooms.int64(3)))
            if !changes.hides(room, row.incarnation, kind: kind, key: row.key) { found.append(row) }
        }
        found += changes.existing.filter { row in row.kind == kind && after.map { row.room > $0 } ?? true }
        return Array(found.sorted { $0.room < $1.room }.prefix(limit))
    }

    /// How many rows there are of a kind of which a room has one at most, with an empty key, `changes` included.
    func count(_ kind: UInt8, _ changes: CatalogueChanges) throws(SQLiteError) -> Int {
        let counted = try database.cached("SELECT count(*) FROM catalogue WHERE kind = ?")
        counted.bind(1, Int64(kind))
        defer { counted.reset() }
        var count = try counted.step() ? Int(counted.int64(0)) : 0
        for (room, change) in changes.rooms
        where !change.retired.isEmpty || change.rows[CatalogueChanges.Key(kind: kind, key: "")] != nil {
            load.bind(1, Int64(kind))
            load.bind(2, room.text)
            defer { load.reset() }
            while try load.step() {
                if changes.hides(room, Incarnation(load.bits(1)), kind: kind, key: load.text(0)) { count -= 1 }
            }
        }
        return count + changes.existing.count { $0.kind == kind }
    }

    /// The earliest deadline of each room at or before `time`, and not before `first`, earliest first, `changes`
    /// included. A room's many rows do not keep others from being found, unless they are more than
    /// `dueRowsPerRoom` times the limit.
    func due(
        from first: Timestamp, at time: Timestamp, limit: Int, _ changes: CatalogueChanges
    ) throws(SQLiteError) -> [DueDeadline] {
        due.bind(1, first.milliseconds)
        due.bind(2, time.milliseconds)
        defer { due.reset() }
        var earliest: [RoomID: Timestamp] = [:]
        var rows = 0
        while earliest.count < limit, rows < limit * Self.dueRowsPerRoom, try due.step() {
            rows += 1
            guard let room = RoomID(due.text(0)), earliest[room] == nil, let kind = UInt8(exactly: due.int64(1)) else {
                continue
            }
            if !changes.hides(room, Incarnation(due.bits(3)), kind: kind, key: due.text(2)) {
                earliest[room] = Timestamp(due.int64(4))
            }
        }
        for row in changes.existing {
            guard let deadline = row.deadline, deadline >= first, deadline <= time else { continue }
            earliest[row.room] = min(earliest[row.room] ?? deadline, deadline)
        }
        let found = earliest.map { DueDeadline(room: $0.key, deadline: $0.value) }
        return Array(found.sorted { ($0.deadline, $0.room) < ($1.deadline, $1.room) }.prefix(limit))
    }

    private static let dueRowsPerRoom = 64
}
