import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

/// Files of an earlier format become those of a later one at the start, once the cluster's feature level brings it.
@Suite struct ConversionTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/file.sqlite" }
    private let two = FeatureLevel(2)

    init() throws { directory = try TemporaryDirectory() }

    /// A format with a column more, and then another meaning of it, each with its level.
    private static func format(version: Int64 = 1) -> DatabaseFormat {
        DatabaseFormat(
            what: "a file of this test", applicationID: 77, version: version,
            schema: "CREATE TABLE item (id INTEGER PRIMARY KEY)",
            conversions: [
                DatabaseFormat.Conversion(from: 1, level: FeatureLevel(2)) { (database) throws(SQLiteError) in
                    try database.execute("ALTER TABLE item ADD COLUMN weight INTEGER NOT NULL DEFAULT 5")
                },
                DatabaseFormat.Conversion(from: 2, level: FeatureLevel(3)) { (database) throws(SQLiteError) in
                    try database.execute("UPDATE item SET weight = weight * 10")
                },
            ])
    }

    private func open(_ level: FeatureLevel, at path: String? = nil, disk: FaultDisk? = nil) throws -> Int64 {
        var options = DatabaseOptions()
        options.create = true
        options.vfs = disk?.vfs
        let database = try Database(path: path ?? self.path, options: options)
        defer { database.close() }
        try Self.format().prepare(database, at: level)
        let statement = try database.prepare("PRAGMA user_version")
        _ = try statement.step()
        return statement.int64(0)
    }

    private func weights(at path: String? = nil, disk: FaultDisk? = nil) throws -> [Int64] {
        var options = DatabaseOptions()
        options.vfs = disk?.vfs
        let database = try Database(path: path ?? self.path, options: options)
        defer { database.close() }
        let statement = try database.prepare("SELECT weight FROM item ORDER BY id")
        var all: [Int64] = []
        while try statement.step() { all.append(statement.int64(0)) }
        return all
    }

    private func insert(_ count: Int) throws {
        let database = try Database(path: path, options: DatabaseOptions())
        defer { database.close() }
        for _ in 0..<count { try database.execute("INSERT INTO item DEFAULT VALUES") }
    }

    @Test func `a file stays as it is until the level brings the next format`() throws {
        #expect(try open(.first) == 1)
        #expect(try open(.first) == 1)
        #expect(try open(two) == 2)
        #expect(try open(FeatureLevel(3)) == 3)
        // A level is never lowered; a file that was converted stays so all the same.
        #expect(try open(.first) == 3)
    }

    @Test func `several steps are taken one after the other, each once`() throws {
        _ = try open(.first)
        try insert(2)
        #expect(try open(FeatureLevel(3)) == 3)
        #expect(try weights() == [50, 50])
        #expect(try open(FeatureLevel(3)) == 3)
        #expect(try weights() == [50, 50])
    }

    @Test func `a new file is of the newest format that the level brings`() throws {
        #expect(try open(two) == 2)
    }

    @Test func `the head of a file says whether it is to be converted`() throws {
        _ = try open(.first)
        #expect(try Self.format().checkHead(of: path, at: .first))
        #expect(try !Self.format().checkHead(of: path, at: two))
        _ = try open(FeatureLevel(3))
        #expect(try Self.format().checkHead(of: path, at: .first))
    }

    @Test func `a version from which there is no way is refused, and the file is left as it is`() throws {
        _ = try open(.first)
        for version in [0, 4] as [Int64] {
            let database = try Database(path: path, options: DatabaseOptions())
            try database.execute("PRAGMA user_version = \(version)")
            database.close()
            let before = try FileSystem.read(path, bytesMax: 1 << 20)
            let error = #expect(throws: StorageError.self) { _ = try open(FeatureLevel(3)) }
            #expect(error?.code == .unsupported && error?.message.contains("has format \(version)") == true)
            #expect(try FileSystem.read(path, bytesMax: 1 << 20) == before)
        }
    }

    /// The disk is cut off after each number of writes: whatever is there then, the next start ends with the whole.
    @Test func `a conversion that is cut short goes on at the next start`() throws {
        _ = try open(.first)
        try insert(3)
        let original = try #require(try FileSystem.read(path, bytesMax: 1 << 20))
        for writes in 0..<40 {
            let path = directory.path + "/cut-\(writes)"
            try directory.write(original, to: "cut-\(writes)")
            let disk = FaultDisk()
            disk.cutPower(after: Int64(writes))
            _ = try? open(FeatureLevel(3), at: path, disk: disk)
            disk.cutPower()
            #expect(disk.powerOn(seed: UInt64(writes) + 1))
            #expect(try open(FeatureLevel(3), at: path, disk: disk) == 3, "after \(writes) writes")
            #expect(try weights(at: path, disk: disk) == [50, 50, 50], "after \(writes) writes")
        }
    }
}
