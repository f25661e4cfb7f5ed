import SQLite
import StorageTestKit
import Testing

@Suite struct DatabaseTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ change: (inout DatabaseOptions) -> Void = { _ in }) throws -> Database {
        var options = DatabaseOptions()
        options.create = true
        change(&options)
        return try Database(path: directory.path + "/test.sqlite", options: options)
    }

    private func count(_ database: Database) throws -> Int64 {
        let statement = try database.cached("SELECT count(*) FROM t")
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : -1
    }

    @Test func `values come back as they were bound`() throws {
        let database = try open()
        defer { database.close() }
        let statement = try database.prepare("SELECT ?, ?, ?, ?, ?, ?, ?, ?")
        for (number, text, bytes) in [
            (Int64.min, "", []), (Int64.max, "æ–‡\u{0}x", [0, 255, 0]),
        ] as [(Int64, String, [UInt8])] {
            statement.bind(1, number)
            statement.bind(2, text)
            statement.bind(3, bytes)
            statement.bind(4, 1.5)
            statement.bindNull(5)
            statement.bind(bits: .max, 6)
            statement.bind(7, nil as String?)
            statement.bind(8, nil as Int64?)
            #expect(try statement.step())
            #expect(statement.int64(0) == number)
            #expect(statement.text(1) == text)
            #expect(!statement.isNull(1))
            #expect(statement.bytes(2) == bytes)
            #expect(!statement.isNull(2))
            #expect(statement.withBytes(2) { $0.count } == bytes.count)
            #expect(statement.double(3) == 1.5)
            #expect(statement.isNull(4))
            #expect(statement.bits(5) == .max)
            #expect(statement.optionalText(6) == nil)
            #expect(statement.optionalInt64(7) == nil)
            #expect(try !statement.step())
        }
    }

    @Test func `a parameter that does not exist is an error of the next step`() throws {
        let database = try open()
        defer { database.close() }
        let statement = try database.prepare("SELECT ?")
        statement.bind(2, 1)
        #expect(throws: SQLiteError.self) { try statement.step() }
        statement.bind(1, 1)
        #expect(try statement.step())
    }

    @Test func `a transaction is undone when its body throws`() throws {
        let database = try open()
        defer { database.close() }
        try database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        do throws(SQLiteError) {
            try database.transaction { () throws(SQLiteError) in
                try database.execute("INSERT INTO t VALUES (1)")
                try database.execute("INSERT INTO t VALUES (1)")
            }
            Issue.record("a duplicate key")
        } catch {
            #expect(error.code == .constraint)
        }
        #expect(try count(database) == 0)
        #expect(!database.isInTransaction)
        try database.transaction { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (1)") }
        #expect(try count(database) == 1)
        #expect(database.changes == 1)
    }

    @Test func `a missing file is not made unless asked for`() throws {
        do throws(SQLiteError) {
            _ = try Database(path: directory.path + "/none.sqlite", options: DatabaseOptions())
            Issue.record("opened")
        } catch {
            #expect(error.code == .cannotOpen)
        }
        #expect(try directory.names().isEmpty)
    }

    @Test func `what is no database is recognised`() throws {
        try directory.write([UInt8](repeating: 7, count: 5_000), to: "test.sqlite")
        do {
            _ = try open()
            Issue.record("opened")
        } catch let error as SQLiteError {
            #expect(error.code == .notADatabase)
        }
    }

    @Test func `a reader cannot write, and leaves the log to the writer when it closes`() throws {
        let writer = try open()
        try writer.execute("CREATE TABLE t (a)")
        try writer.execute("INSERT INTO t VALUES (1)")
        #expect(writer.writeAheadLogPages > 0)
        let reader = try open { options in
            options.readOnly = true
            options.leavesWriteAheadLogOnClose = true
        }
        #expect(try count(reader) == 1)
        #expect(throws: SQLiteError.self) { try reader.execute("INSERT INTO t VALUES (2)") }
        reader.close()
        let result = try writer.checkpoint(.passive)
        #expect(result.pages > 0)
        #expect(result.isComplete)
        writer.close()
    }

    @Test func `a reader in the middle of a walk keeps a checkpoint from being complete`() throws {
        let writer = try open()
        try writer.execute("CREATE TABLE t (a)")
        try writer.execute("INSERT INTO t VALUES (1), (2)")
        let reader = try open { options in
            options.readOnly = true
            options.leavesWriteAheadLogOnClose = true
        }
        let walk = try reader.prepare("SELECT a FROM t")
        #expect(try walk.step())
        try writer.execute("INSERT INTO t VALUES (3)")
        #expect(try !writer.checkpoint(.passive).isComplete)
        #expect(try !writer.checkpoint(.full).isComplete)
        walk.reset()
        #expect(try writer.checkpoint(.full).isComplete)
        reader.close()
        writer.close()
    }

    @Test func `an exclusive file cannot be opened twice`() throws {
        let first = try open { $0.exclusive = true }
        try first.execute("CREATE TABLE t (a)")
        do {
            let second = try open()
            try second.execute("INSERT INTO t VALUES (1)")
            Issue.record("wrote")
        } catch let error as SQLiteError {
            #expect(error.code == .busy)
        }
        first.close()
    }

    @Test func `closing releases the file although statements are still held`() throws {
        let first = try open { $0.exclusive = true }
        try first.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        let statement = try first.prepare("SELECT a FROM t")
        #expect(try statement.step())
        first.close()
        let second = try open { $0.exclusive = true }
        #expect(try count(second) == 1)
        second.close()
    }

    // MARK: - The faulty disk

    @Test func `what is committed with full synchronisation survives a power cut, and nothing else does`() throws {
        let disk = FaultDisk()
        var database = try open { $0.vfs = disk.vfs }
        try database.execute("CREATE TABLE t (a)")
        for _ in 0..<10 { try database.execute("INSERT INTO t VALUES (1)") }
        try database.begin()
        try database.execute("INSERT INTO t VALUES (2)")
        disk.cutPower()
        #expect(throws: SQLiteError.self) { try database.commit() }
        #expect(!disk.powerOn(seed: 0))
        database.close()
        #expect(disk.powerOn(seed: 0))
        database = try open { $0.vfs = disk.vfs }
        #expect(try count(database) == 10)
        database.close()
    }

    @Test func `with normal synchronisation a power cut may lose commits but not checkpoints`() throws {
        let disk = FaultDisk()
        func openNormal() throws -> Database {
            try open { options in
                options.vfs = disk.vfs
                options.synchronous = .normal
            }
        }
        var database = try openNormal()
        try database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        #expect(try database.checkpoint(.passive).isComplete)
        try database.execute("INSERT INTO t VALUES (2)")
        disk.cutPower()
        database.close()
        #expect(disk.powerOn(seed: 0))
        database = try openNormal()
        #expect(try count(database) == 1)
        database.close()
    }

    @Test func `a failing sync, a full disk and a power cut are told apart`() throws {
        let disk = FaultDisk()
        let database = try open { $0.vfs = disk.vfs }
        try database.execute("CREATE TABLE t (a)")
        func code() -> SQLiteError.Code? {
            do throws(SQLiteError) {
                try database.execute("INSERT INTO t VALUES (1)")
                return nil
            } catch {
                return error.code
            }
        }
        disk.isFull = true
        #expect(code() == .full)
        disk.isFull = false
        #expect(code() == nil)
        disk.failSyncs(1)
        #expect(code() == .syncFailed)
        #expect(code() == nil)
        disk.cutPower(after: 1)
        #expect(code() != nil)
        #expect(!disk.isPowered)
        #expect(code() == .io)
        database.close()
    }
}
