import ChatModel
import SQLite

/// Making, recognising and converting our database files.
struct DatabaseFormat {
    /// The kind of the file, for people: "a day's history".
    var what: String
    /// So that tools can tell what the file is.
    var applicationID: Int64
    /// That of `schema`. Another one stands for another schema, or for contents that this one's programs would not
    /// understand.
    var version: Int64
    var schema: String
    /// From each version to the next one, the oldest first. The first may begin before `version`.
    var conversions: [Conversion] = []

    /// A step from one version to the next.
    struct Conversion: Sendable {
        /// The version that the file is of before.
        var from: Int64
        /// The cluster's feature level from which on files are converted: programs that can't read the new version can
        /// take over again until then (PROTOCOL.md, "Versions"). This program reads and writes both.
        var level: FeatureLevel
        var convert: @Sendable (Database) throws(SQLiteError) -> Void
    }

    /// Makes the schema in a new file, at once as the level brings it: nobody sees it halfway. Converts one of an earlier
    /// version: all steps are one transaction, which also says the version, so readers see the former one or the new one, and
    /// a process that ends halfway begins anew at the next start. Throws `.unsupported` when the file
    /// is of another program, or of a version from which there is no way.
    ///
    /// - Parameter level: the cluster's.
    /// - Returns: the version that the file is of now.
    @discardableResult func prepare(_ database: Database, at level: FeatureLevel) throws -> Int64 {
        if try Self.number(database, "SELECT count(*) FROM sqlite_schema") == 0 {
            try database.transaction { () throws(SQLiteError) in
                try database.execute(schema)
                var made = version
                while let step = next(after: made, at: level) {
                    try step.convert(database)
                    made += 1
                }
                try database.execute("PRAGMA application_id = \(applicationID)")
                try database.execute("PRAGMA user_version = \(made)")
            }
        }
        var found = try Self.number(database, "PRAGMA user_version") ?? 0
        let program = try Self.number(database, "PRAGMA application_id") ?? 0
        try check(database.path, applicationID: program, version: found)
        guard !isCurrent(found, at: level) else { return found }
        found = try database.transaction { () throws(SQLiteError) in
            var made = found
            while let step = next(after: made, at: level) {
                try step.convert(database)
                made += 1
            }
            try database.execute("PRAGMA user_version = \(made)")
            return made
        }
        return found
    }

    /// Whether a file of that version stays what it is.
    func isCurrent(_ version: Int64, at level: FeatureLevel) -> Bool { next(after: version, at: level) == nil }

    /// The next step of a file of that version; nil when it is of the version that it is to have.
    private func next(after found: Int64, at level: FeatureLevel) -> Conversion? {
        conversions.first { $0.from == found && ($0.level <= level || found < version) }
    }

    /// The versions that this program reads.
    private var readable: ClosedRange<Int64> {
        let first = conversions.first.map { min($0.from, version) } ?? version
        return first...max(version, (conversions.last?.from ?? 0) + 1)
    }

    private func check(_ path: String, applicationID found: Int64, version foundVersion: Int64) throws(StorageError) {
        guard found == applicationID else {
            throw StorageError(
                .unsupported,
                "\(path) is not \(what): its application_id is \(found), and that of such a file is \(applicationID)")
        }
        guard readable.contains(foundVersion) else {
            let own = foundVersion < readable.lowerBound ? readable.lowerBound : readable.upperBound
            throw StorageError(.unsupported, FileVersion.sentence(path, found: foundVersion, own: own))
        }
    }

    /// Checks the head of a file, without opening it as a database: cheap enough for all files at a start.
    ///
    /// - Returns: false when the file says nothing yet, is to be converted, or is no database: opening it makes,
    ///   converts or refuses it.
    /// - Throws: `.unsupported` as `prepare`.
    func checkHead(of path: String, at level: FeatureLevel) throws -> Bool {
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
        return isCurrent(version, at: level)
    }

    private static let headBytes = 100

    private static func number(_ database: Database, _ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }
}
