import ChatModel
import SQLite

/// The audit as earlier programs write it: this node's own calls, which nothing can be found by.
///
/// It stays as it is, so that such a program can take over again. The rows of that one are taken at the next start.
final class FormerAudit {
    private static let format = DatabaseFormat(
        what: "an audit", applicationID: 0x4352_6175, version: 1,
        schema: """
            CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, payload BLOB NOT NULL);
            CREATE INDEX audit_time ON audit (time);
            """)

    struct Row {
        var id: Int64
        var time: Timestamp
        var payload: [UInt8]
    }

    private let database: Database

    /// nil: there is none.
    init?(path: String, level: FeatureLevel) throws {
        guard FileSystem.exists(path) else { return nil }
        var options = DatabaseOptions()
        options.exclusive = true
        options.cacheKilobytes = 512
        database = try Database(path: path, options: options)
        do {
            try Self.format.prepare(database, at: level)
        } catch {
            database.close()
            throw error
        }
    }

    func close() { database.close() }

    /// Rows behind that one, the oldest first.
    func rows(after id: Int64, limit: Int) throws(SQLiteError) -> [Row] {
        let select = try database.cached("SELECT id, time, payload FROM audit WHERE id > ? ORDER BY id LIMIT ?")
        defer { select.reset() }
        select.bind(1, id)
        select.bind(2, limit)
        var rows: [Row] = []
        while try select.step() {
            rows.append(Row(id: select.int64(0), time: Timestamp(select.int64(1)), payload: select.bytes(2)))
        }
        return rows
    }
}
