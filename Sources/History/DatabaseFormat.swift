import SQLite

/// Making and recognising our database files.
struct DatabaseFormat {
    /// The kind of the file, for people: "a day's history".
    var what: String
    /// So that tools can tell what the file is.
    var applicationID: Int64
    /// Another one stands for another schema, or for contents that this one's programs would not understand.
    var version: Int64
    var schema: String

    /// Makes the schema in a new file. Throws `.unsupported` when the file is of another program or version.
    func prepare(_ database: Database) throws {
        if try Self.number(database, "SELECT count(*) FROM sqlite_schema") == 0 {
            try database.transaction { () throws(SQLiteError) in
                try database.execute(schema)
                try database.execute("PRAGMA application_id = \(applicationID)")
                try database.execute("PRAGMA user_version = \(version)")
            }
        }
        try check(
            database.path, applicationID: try Self.number(database, "PRAGMA application_id") ?? 0,
            version: try Self.number(database, "PRAGMA user_version") ?? 0)
    }

    private func check(_ path: String, applicationID found: Int64, version foundVersion: Int64) throws(StorageError) {
        guard found == applicationID else {
            throw StorageError(
                .unsupported,
                "\(path) is not \(what): its application_id is \(found), and that of such a file is \(applicationID)")
        }
        guard foundVersion == version else {
            throw StorageError(.unsupported, FileVersion.sentence(path, found: foundVersion, own: version))
        }
    }

    /// Checks the head of a file, without opening it as a database: cheap enough for all files at a start.
    ///
    /// - Returns: false when the file says nothing yet, or is no database: opening it makes or refuses it.
    /// - Throws: `.unsupported` as `prepare`.
    func checkHead(of path: String) throws -> Bool {
        var head: ArraySlice<UInt8> = []
        try FileSystem.readPieces(path) { piece in
            head = piece.prefix(Self.headBytes)
            return false
        }
        // https://www.sqlite.org/fileformat.html#the_database_header
        guard head.count == Self.headBytes, head.starts(with: Array("SQLite format 3\0".utf8)) else { return false }
        func number(at offset: Int) -> Int64 {
            Int64(head[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        }
        let (version, applicationID) = (number(at: 60), number(at: 68))
        guard applicationID != 0 || version != 0 else { return false }
        try check(path, applicationID: applicationID, version: version)
        return true
    }

    private static let headBytes = 100

    private static func number(_ database: Database, _ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }
}
