import SQLite

/// Making and recognising our database files.
enum DatabaseFormat {
    /// Makes the schema in a new file. Throws `.unsupported` when the file is of another program or version.
    static func prepare(_ database: Database, schema: String, applicationID: Int64, version: Int64) throws {
        if try number(database, "SELECT count(*) FROM sqlite_schema") == 0 {
            try database.transaction { () throws(SQLiteError) in try database.execute(schema) }
        }
        let found = try number(database, "PRAGMA user_version") ?? 0
        guard try number(database, "PRAGMA application_id") == applicationID, found == version else {
            throw StorageError(
                .unsupported,
                "\(database.path) is not a file of this version of the program: it has format \(found), and this program "
                    + "reads format \(version) only")
        }
    }

    private static func number(_ database: Database, _ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }
}
