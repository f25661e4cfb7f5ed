import ChatModel
import History
import SQLite
import StorageTestKit
import Testing

/// Files that another version of the program has written: refused at the start with a sentence that has both numbers, and
/// left as they are.
@Suite struct FormatTests {
    /// Changes a number in the head of a database that is closed.
    private func put(_ pragma: String, _ number: Int64, in path: String) throws {
        var options = DatabaseOptions()
        options.create = true
        let database = try Database(path: path, options: options)
        defer { database.close() }
        try database.execute("PRAGMA \(pragma) = \(number)")
    }

    private func expectRefusal(
        of path: String, _ found: Int64, _ own: Int64, sourceLocation: SourceLocation = #_sourceLocation,
        _ open: () throws -> Void
    ) throws {
        let before = try FileSystem.read(path, bytesMax: 1 << 24)
        do {
            try open()
            Issue.record("opened", sourceLocation: sourceLocation)
        } catch let error as StorageError {
            #expect(error.code == .unsupported, sourceLocation: sourceLocation)
            for words in [
                path, "has format \(found)", "format \(own) only", found > own ? "newer" : "older", "CHANGELOG.md",
            ] {
                #expect(error.message.contains(words), "\(error)", sourceLocation: sourceLocation)
            }
            for word in ["damaged", "away", "delete", "remove", "wipe"] {
                #expect(!error.message.contains(word), "\(error)", sourceLocation: sourceLocation)
            }
        }
        #expect(try FileSystem.read(path, bytesMax: 1 << 24) == before, sourceLocation: sourceLocation)
    }

    @Test(arguments: [1, 5] as [Int64]) func `a day's file`(version: Int64) async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        storage.write([row(1)])
        _ = try await storage.checkpoint()
        storage.close()
        let path = shard.directory.path + "/shard/history-2026-06-15.sqlite"
        #expect(FileSystem.size(path + "-wal") == nil, "nothing that a start has to mend")
        try put("user_version", version, in: path)
        try expectRefusal(of: path, version, version == 1 ? 2 : 4) { try shard.open().close() }
        // Of another program, with our number.
        try put("user_version", 4, in: path)
        try put("application_id", 77, in: path)
        do {
            try shard.open().close()
            Issue.record("opened")
        } catch let error as StorageError {
            #expect(error.code == .unsupported)
            #expect(error.message.contains("application_id is 77") && !error.message.contains("format"), "\(error)")
        }
    }

    /// As a power cut leaves it right after it was made.
    @Test func `a day's file that says nothing yet is made at the start`() async throws {
        let shard = try TestShard()
        try shard.open().close()
        var options = DatabaseOptions()
        options.create = true
        let path = shard.directory.path + "/shard/history-2026-06-15.sqlite"
        let database = try Database(path: path, options: options)
        try database.execute("CREATE TABLE x (y); DROP TABLE x")
        database.close()
        let storage = try shard.open()
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.isEmpty)
        storage.write([row(1)])
        #expect(try await storage.message(1) == row(1))
        storage.close()
    }

    @Test(arguments: [1, 3] as [Int64]) func `a catalogue`(version: Int64) throws {
        let shard = try TestShard()
        try shard.open().close()
        let path = shard.directory.path + "/shard/catalogue.sqlite"
        try put("user_version", version, in: path)
        try expectRefusal(of: path, version, 2) { try shard.open().close() }
    }

    @Test(arguments: [1, 3] as [Int64]) func `an audit`(version: Int64) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.sqlite"
        func open() throws { try AuditFile.open(path: path, own: n1, retentionDays: 1) { noon }.close() }
        try open()
        try put("user_version", version, in: path)
        try expectRefusal(of: path, version, 2, open)
    }

    @Test(arguments: [1, 3] as [UInt8]) func `the system group's state`(version: UInt8) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/system/state"
        let (file, nothing) = try StateFile.open(path: path)
        #expect(nothing == nil)
        let result: Result<Void, SQLiteError> = await withCheckedContinuation { continuation in
            file.replace({ [1, 2, 3] }) { continuation.resume(returning: $0) }
        }
        try result.get()
        file.close()
        var bytes = try directory.bytes("system/state")
        #expect(bytes[4] == 2)
        bytes[4] = version
        try directory.write(bytes, to: "system/state")
        try expectRefusal(of: path, Int64(version), 2) { try StateFile.open(path: path).file.close() }
    }
}
