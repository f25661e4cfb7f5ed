import ChatModel
import SQLite

/// The audit's file, on its thread.
final class AuditTable {
    /// "CRau". The format of version 1 is `FormerAudit`'s file.
    private static let format = DatabaseFormat(
        what: "an audit", applicationID: 0x4352_6175, version: 2,
        schema: """
            CREATE TABLE calls (
                id INTEGER NOT NULL, node TEXT NOT NULL, kind INTEGER NOT NULL,
                actor TEXT, room TEXT, action TEXT, payload BLOB NOT NULL,
                PRIMARY KEY (id, node)
            ) WITHOUT ROWID;
            CREATE INDEX calls_node ON calls (node, kind, id);
            CREATE INDEX calls_actor ON calls (actor, id) WHERE actor IS NOT NULL;
            CREATE INDEX calls_room ON calls (room, id) WHERE room IS NOT NULL;
            CREATE INDEX calls_action ON calls (action, id) WHERE action IS NOT NULL;
            CREATE TABLE copied (node TEXT, store INTEGER, id INTEGER NOT NULL, PRIMARY KEY (node, store)) WITHOUT ROWID;
            CREATE TABLE mark (name TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
            """)

    private let database: Database
    private let own: NodeID
    /// The ID of the last row of this node's own, over restarts and clocks that go back.
    private var lastID: Int64
    private var rowsSincePrune = 0
    private static let rowsBetweenPrunes = 1_000

    /// - Parameter own: the node whose rows `append` takes.
    init(path: String, own: NodeID, level: FeatureLevel) throws {
        var options = DatabaseOptions()
        options.create = true
        options.synchronous = .normal
        options.exclusive = true
        options.checkpointPages = 1_000
        options.cacheKilobytes = 512
        let database = try Database(path: path, options: options)
        do {
            try Self.format.prepare(database, at: level)
            let last = try database.cached(
                "SELECT max((SELECT ifnull(max(id), 0) FROM calls WHERE node = ?1),"
                    + " (SELECT ifnull(max(id), 0) FROM mark WHERE name = 'last'))")
            last.bind(1, own.text)
            lastID = try last.step() ? last.int64(0) : 0
            last.reset()
        } catch {
            database.close()
            throw error
        }
        self.own = own
        self.database = database
    }

    func close() { database.close() }

    // MARK: - Writing

    /// Rows of this node's own, the oldest first.
    func append(_ rows: [AuditFile.Appended]) throws(SQLiteError) {
        var last = lastID
        try database.transaction { () throws(SQLiteError) in
            for row in rows { last = try insert(row, atLeast: last + 1) }
        }
        lastID = last
        rowsSincePrune += rows.count
    }

    /// Rows of one node, the oldest first; those that are here stay as they are.
    /// - Parameter store: that of the node itself, if it has sent them: it has them, and those before that it has sent.
    func keep(_ rows: [AuditRow], from store: UInt64?) throws(SQLiteError) {
        guard let first = rows.first?.place, let last = rows.last?.place else { return }
        try database.transaction { () throws(SQLiteError) in
            if let store, try !isAnything(of: first.node, after: copied(of: first.node, to: store), before: first.id) {
                try note(copied: last.id, of: first.node, to: store)
            }
            for row in rows { _ = try insert(row) }
        }
        rowsSincePrune += rows.count
    }

    /// Whether there are rows of the node between two places.
    private func isAnything(of node: NodeID, after: Int64, before: Int64) throws(SQLiteError) -> Bool {
        let select = try database.cached("SELECT 1 FROM calls WHERE id > ? AND id < ? AND +node = ? LIMIT 1")
        defer { select.reset() }
        select.bind(1, after)
        select.bind(2, before)
        select.bind(3, node.text)
        return try select.step()
    }

    /// Rows of this node's own from its former record, and up to which of them they are.
    func take(former rows: [AuditFile.Appended], upTo last: Int64) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            var first = Int64.max
            for row in rows { first = min(first, try insert(row, atLeast: 0)) }
            try mark("former", last)
            // Newer rows may have been copied already: these are behind them, and are copied next.
            let again = try database.cached("UPDATE copied SET id = ? WHERE node = ? AND id >= ?")
            again.bind(1, first - 1)
            again.bind(2, own.text)
            again.bind(3, first)
            try again.run()
        }
        rowsSincePrune += rows.count
    }

    /// A row of this node's own, at the first free place from its time on. Returns its ID.
    private func insert(_ row: AuditFile.Appended, atLeast least: Int64) throws(SQLiteError) -> Int64 {
        var id = max(least, AuditPlace.firstID(at: row.time))
        func placed() -> AuditRow {
            AuditRow(place: AuditPlace(id: id, node: own), subject: row.subject, payload: row.payload)
        }
        while try !insert(placed()) { id += 1 }
        return id
    }

    /// False when there is a row of that place.
    private func insert(_ row: AuditRow) throws(SQLiteError) -> Bool {
        let insert = try database.cached(
            "INSERT OR IGNORE INTO calls (id, node, kind, actor, room, action, payload) VALUES (?, ?, ?, ?, ?, ?, ?)")
        insert.bind(1, row.place.id)
        insert.bind(2, row.place.node.text)
        insert.bind(3, row.subject.kind.rawValue)
        insert.bind(4, row.subject.actor)
        insert.bind(5, row.subject.room)
        insert.bind(6, row.subject.action)
        insert.bind(7, row.payload)
        try insert.run()
        return database.changes > 0
    }

    /// Up to which row the former record has been taken.
    func formerMark() throws(SQLiteError) -> Int64 {
        let select = try database.cached("SELECT id FROM mark WHERE name = 'former'")
        defer { select.reset() }
        return try select.step() ? select.int64(0) : 0
    }

    private func mark(_ name: String, _ id: Int64) throws(SQLiteError) {
        let mark = try database.cached("INSERT OR REPLACE INTO mark (name, id) VALUES (?, ?)")
        mark.bind(1, name)
        mark.bind(2, id)
        try mark.run()
    }

    // MARK: - Pruning

    func pruneIfDue(before cutoff: Timestamp) throws(SQLiteError) {
        guard rowsSincePrune >= Self.rowsBetweenPrunes else { return }
        try prune(before: cutoff)
    }

    func prune(before cutoff: Timestamp) throws(SQLiteError) {
        rowsSincePrune = 0
        try mark("last", lastID)
        let old = try database.cached("DELETE FROM calls WHERE id < ?")
        old.bind(1, AuditPlace.firstID(at: cutoff))
        try old.run()
        for node in try nodes() {
            for kind in AuditRow.Kind.allCases {
                let many = try database.cached(
                    "DELETE FROM calls WHERE node = ?1 AND kind = ?2 AND id <= (SELECT id FROM calls"
                        + " WHERE node = ?1 AND kind = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)")
                many.bind(1, node.text)
                many.bind(2, kind.rawValue)
                many.bind(3, kind.rowsMax)
                try many.run()
            }
        }
    }

    /// The nodes of which there are rows. A step of an index for each.
    func nodes() throws(SQLiteError) -> [NodeID] {
        let next = try database.cached("SELECT min(node) FROM calls WHERE node > ?")
        var nodes: [NodeID] = []
        var last = ""
        while true {
            next.bind(1, last)
            guard try next.step(), !next.isNull(0) else { break }
            last = next.text(0)
            next.reset()
            if let node = NodeID(last) { nodes.append(node) }
        }
        next.reset()
        return nodes
    }

    // MARK: - Reading

    func page(_ query: AuditQuery, since cutoff: Timestamp) throws(SQLiteError) -> [AuditRow] {
        var conditions = ["id >= ?1"]
        if query.before != nil { conditions.append("id <= ?2 AND (id, node) < (?2, ?3)") }
        // By the index that leaves least: a + rules the others out.
        if query.room != nil { conditions.append("room = ?5") }
        if query.actor != nil { conditions.append(query.room == nil ? "actor = ?4" : "+actor = ?4") }
        if query.action != nil {
            conditions.append(query.room == nil && query.actor == nil ? "action = ?6" : "+action = ?6")
        }
        let select = try database.cached(
            "SELECT id, node, kind, actor, room, action, payload FROM calls WHERE "
                + conditions.joined(separator: " AND ") + " ORDER BY id DESC, node DESC LIMIT ?7")
        select.bind(1, AuditPlace.firstID(at: cutoff))
        if let before = query.before {
            select.bind(2, before.id)
            select.bind(3, before.node.text)
        }
        if let actor = query.actor { select.bind(4, actor) }
        if let room = query.room { select.bind(5, room) }
        if let action = query.action { select.bind(6, action) }
        select.bind(7, query.limit)
        return try rows(select)
    }

    /// Rows of a node behind a place, the oldest first. By the primary key, from that place on: with the index of nodes
    /// (which the + rules out) all of the node's rows would be sorted each time.
    func rows(of node: NodeID, after id: Int64, limit: Int) throws(SQLiteError) -> [AuditRow] {
        let select = try database.cached(
            "SELECT id, node, kind, actor, room, action, payload FROM calls WHERE id > ? AND +node = ?"
                + " ORDER BY id LIMIT ?")
        select.bind(1, id)
        select.bind(2, node.text)
        select.bind(3, limit)
        return try rows(select)
    }

    private func rows(_ select: Statement) throws(SQLiteError) -> [AuditRow] {
        defer { select.reset() }
        var rows: [AuditRow] = []
        while try select.step() {
            guard let node = NodeID(select.text(1)) else { continue }
            rows.append(
                AuditRow(
                    place: AuditPlace(id: select.int64(0), node: node),
                    subject: AuditRow.Subject(
                        AuditRow.Kind(rawValue: select.int64(2)) ?? .ordinary, actor: select.optionalText(3),
                        room: select.optionalText(4), action: select.optionalText(5)),
                    payload: select.bytes(6)))
        }
        return rows
    }

    // MARK: - Copies

    /// Up to which of a node's rows a store has them; 0 when nothing is known.
    func copied(of node: NodeID, to store: UInt64) throws(SQLiteError) -> Int64 {
        let select = try database.cached("SELECT id FROM copied WHERE node = ? AND store = ?")
        defer { select.reset() }
        select.bind(1, node.text)
        select.bind(bits: store, 2)
        return try select.step() ? select.int64(0) : 0
    }

    func note(copied id: Int64, of node: NodeID, to store: UInt64) throws(SQLiteError) {
        let note = try database.cached("INSERT OR REPLACE INTO copied (node, store, id) VALUES (?, ?, ?)")
        note.bind(1, node.text)
        note.bind(bits: store, 2)
        note.bind(3, id)
        try note.run()
    }
}
