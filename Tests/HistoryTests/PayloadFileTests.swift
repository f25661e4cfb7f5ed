import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

/// The payloads of blocks beside the database.
@Suite struct PayloadFileTests {
    private let shard: TestShard
    private let disk = FaultDisk()

    init() throws { shard = try TestShard(blockRowsMin: 4, inlinePayloadsMax: 300) }

    private var path: String { shard.directory.path + "/shard/history-2026-06-15.sqlite" }
    private var payloadPath: String { path + PayloadFile.suffix }

    private func number(_ sql: String) throws -> Int64 {
        let database = try Database(path: path, options: DatabaseOptions())
        defer { database.close() }
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : 0
    }

    private func rows(_ seqs: ClosedRange<UInt64>, bytes: Int = 200) -> [HistoryRow] {
        seqs.map { row($0, at: noon.adding(milliseconds: Int64($0)), bytes: bytes) }
    }

    private func all(_ storage: ShardStorage) async throws -> [HistoryRow] {
        var query = HistoryQuery(incarnation: life, order: .ascending, limit: 100)
        var rows: [HistoryRow] = []
        while true {
            let page = try await storage.page(query)
            rows += page.rows
            query.afterSeq = rows.last?.seq
            if !page.more { return rows }
        }
    }

    private func fileContains(_ bytes: [UInt8]) throws -> Bool {
        for suffix in ["", "-wal", PayloadFile.suffix] {
            if try FileSystem.read(path + suffix, bytesMax: 1 << 24)?.contains(bytes) ?? false { return true }
        }
        return false
    }

    @Test func `long payloads are in the file, once each, and short ones in the row`() async throws {
        let storage = try shard.open()
        storage.write(rows(1...10, bytes: 20))
        _ = try await storage.checkpoint()
        #expect(!FileSystem.exists(payloadPath))
        storage.write(rows(11...20))
        storage.write(rows(21...30))
        _ = try await storage.checkpoint()
        storage.write(rows(31...40))
        #expect(try await all(storage) == rows(1...10, bytes: 20) + rows(11...40))
        storage.close()
        #expect(FileSystem.size(payloadPath) == 30 * 200)
        #expect(try number("SELECT count(*) FROM block WHERE place IS NULL AND length(payloads) = 200") == 1)
        #expect(try number("SELECT sum(length(payloads)) FROM block WHERE place IS NOT NULL") == 0)
        #expect(try number("SELECT end = 6000 AND synced = 6000 FROM payload_file") == 1)
    }

    @Test func `a file of the version before has its payloads in the rows, and goes on`() async throws {
        var storage = try shard.open { $0.inlinePayloadsMax = .max }
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let database = try Database(path: path, options: DatabaseOptions())
        try database.execute(
            """
            ALTER TABLE block DROP COLUMN place; ALTER TABLE block DROP COLUMN checksum; DROP TABLE payload_file;
            DROP TABLE hole; PRAGMA user_version = 3
            """)
        database.close()
        storage = try shard.open()
        #expect(try await all(storage) == rows(1...20))
        storage.write(rows(21...40))
        storage.write([], [Erasure(incarnation: life, seq: 5, day: noon.day, index: 41)])
        let found = try await all(storage)
        #expect(found.map(\.seq) == Array(1...40) && found[4].recalled && found[30] == rows(31...31)[0])
        storage.close()
        #expect(try number("PRAGMA user_version") == 4)
    }

    // MARK: - Damage

    @Test(arguments: [0, 1]) func `payloads that are others, or are missing, are told as damage`(kind: Int) async throws
    {
        var storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        var bytes = try #require(try FileSystem.read(payloadPath, bytesMax: 1 << 20))
        bytes[2_000] ^= 1
        try FileSystem.remove(payloadPath)
        if kind == 0 { try FileSystem.replace(payloadPath, with: bytes) }
        storage = try shard.open()
        defer { storage.close() }
        let error = await #expect(throws: StorageError.self) { _ = try await storage.message(20) }
        #expect(error?.code == .corrupt)
        // Nor does the writer take them for what they were.
        storage.write([], [Erasure(incarnation: life, seq: 5, day: noon.day, index: 41)])
        let failure = await #expect(throws: StorageError.self) { _ = try await storage.checkpoint() }
        #expect(failure?.code == .corrupt)
    }

    // MARK: - Power cuts

    /// Whatever of it has come to the disk: what was counted as synced is there, and the log brings the rest.
    @Test(arguments: SeededGenerator.seeds(24)) func `a power cut loses nothing that was synced`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        var next: UInt64 = 1
        var recalled: Set<UInt64> = []
        for _ in 0..<5 {
            var storage = try shard.open(disk: disk)
            let start = storage.appliedIndex
            // As the log does it, in other batches than before.
            var index = start
            while index < next - 1 {
                let end = min(next - 1, index + .random(in: 1...30, using: &random))
                write((index + 1)...end, recalled, to: storage)
                index = end
            }
            let found = try await all(storage)
            #expect(found.map(\.seq) == (next == 1 ? [] : Array(1..<next)), "seed \(seed)")
            for row in found where !recalled.contains(row.seq) {
                #expect(row == rows(row.seq...row.seq)[0], "seed \(seed)")
            }
            disk.cutPower(after: .random(in: 0...160, using: &random))
            for _ in 0..<25 {
                let end = next + .random(in: 0...40, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0, next > 30 {
                    recalled.insert(.random(in: 1..<next, using: &random))
                }
                write(next...end, recalled, to: storage)
                next = end + 1
                if Int.random(in: 0..<4, using: &random) == 0 {
                    do { _ = try await storage.checkpoint() } catch { break }
                }
            }
            disk.cutPower()
            storage.close()
            #expect(disk.powerOn(seed: .random(in: 0...5, using: &random)), "seed \(seed)")
            // A start that nobody writes after changes nothing.
            if Bool.random(using: &random) {
                storage = try shard.open(disk: disk)
                disk.cutPower(after: .random(in: 0...20, using: &random))
                storage.close()
                disk.cutPower()
                #expect(disk.powerOn(seed: .random(in: 0...5, using: &random)), "seed \(seed)")
            }
        }
    }

    private func write(_ seqs: ClosedRange<UInt64>, _ recalled: Set<UInt64>, to storage: ShardStorage) {
        // Each entry is a message; a recall of an earlier one comes with it, and again with each later batch.
        let erasures = recalled.filter { $0 < seqs.lowerBound }.map {
            Erasure(incarnation: life, seq: $0, day: noon.day, index: seqs.upperBound)
        }
        storage.write(rows(seqs), erasures, applied: seqs.upperBound)
    }

    @Test func `a block whose payloads were not synced is taken out, and comes again`() async throws {
        var storage = try shard.open(disk: disk)
        storage.write(rows(1...10))
        _ = try await storage.checkpoint()
        storage.write(rows(11...20))
        #expect(try await storage.message(15) == rows(15...15)[0])
        disk.cutPower()
        storage.close()
        #expect(disk.powerOn(seed: 0))
        // As if the kernel had written the database's pages, and not those of the file.
        let database = try Database(path: path, options: DatabaseOptions())
        try database.execute(
            """
            INSERT INTO block (id, incarnation, first, last, heads, payloads, place, checksum)
            SELECT 2, 1, 11, 20, x'', x'', 2000, 7;
            UPDATE payload_file SET end = 4000
            """)
        let put = try database.prepare("UPDATE block SET heads = ? WHERE id = 2")
        var block = BlockBuilder()
        let packed = HistoryRows(rows(11...20))
        packed.bytes.withUnsafeBytes { bytes in packed.forEachPlace(in: bytes) { row, _ in block.append(row) } }
        put.bind(1, block.heads)
        try put.run()
        database.close()
        storage = try shard.open()
        storage.write(rows(11...20))
        #expect(try await all(storage) == rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        // At a new place: the old one is not given out again, and is zeros.
        #expect(try number("SELECT place FROM block WHERE first = 11") == 4_000)
        let bytes = try #require(try FileSystem.read(payloadPath, bytesMax: 1 << 20))
        #expect(bytes.count == 6_000 && bytes[2_000..<4_000].allSatisfy { $0 == 0 })
    }

    /// A failed sync: the kernel shows what it has never written, and says of the next sync that all is well.
    @Test func `what was only in the kernel's memory at a start is written once more`() async throws {
        var storage = try shard.open(disk: disk)
        storage.write(rows(1...10))
        _ = try await storage.checkpoint()
        storage.write(rows(11...30))
        #expect(try await storage.message(15) == rows(15...15)[0])
        disk.failSyncs(1)
        let error = await #expect(throws: StorageError.self) { _ = try await storage.checkpoint() }
        #expect(error?.code == .restartNeeded)
        storage.close()
        storage = try shard.open(disk: disk)
        storage.write(rows(11...30))
        #expect(try await storage.checkpoint() == 30)
        storage.close()
        disk.cutPower()
        #expect(disk.powerOn(seed: 0))
        storage = try shard.open(disk: disk)
        #expect(try await all(storage) == rows(1...30))
        storage.close()
    }

    // MARK: - A full disk

    @Test(arguments: SeededGenerator.seeds(12))
    func `a disk that is full now and then leaves no block without payloads`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let storage = try shard.open(disk: disk)
        for batch in 0..<20 as Range<UInt64> {
            if Int.random(in: 0..<3, using: &random) == 0 { disk.fillUp(after: .random(in: 0...20, using: &random)) }
            storage.write(rows(1 + 20 * batch...20 + 20 * batch))
            if Bool.random(using: &random) { do { _ = try await storage.checkpoint() } catch {} }
            disk.isFull = false
        }
        #expect(try await all(storage) == rows(1...400), "seed \(seed)")
        _ = try await storage.checkpoint()
        storage.close()
        // Failed tries are written over.
        #expect(try number("SELECT end FROM payload_file") == 400 * 200, "seed \(seed)")
        #expect(FileSystem.size(payloadPath) == 400 * 200, "seed \(seed)")
    }

    // MARK: - What must not stay

    private let secret = Array("a secret that was told by mistake, and is longer than others".utf8)

    private func withSecret(_ seqs: ClosedRange<UInt64>) -> [HistoryRow] {
        var all = rows(seqs)
        all[3].payload = secret
        return all
    }

    @Test func `a recalled text is zeros once nobody reads it, also when the program ends before`() throws {
        var storage = try shard.open()
        storage.write(withSecret(1...20))
        _ = try storage.waited { storage.checkpoint(completion: $0) }
        let reader = try DayReader(path: path, vfs: nil)
        try reader.database.execute("BEGIN")
        let block = try #require(try reader.blocks()?.block(life, around: 4))
        storage.write([], [Erasure(incarnation: life, seq: 4, day: noon.day, index: 21)])
        #expect(try storage.waited { storage.message(life, seq: 4, completion: $0) }?.recalled == true)
        // The reader is in the way.
        #expect(throws: StorageError.self) { try storage.waited { storage.checkpoint(completion: $0) } }
        storage.close()
        #expect(try block.row(3).payload == secret)
        try reader.database.rollback()
        reader.close()
        #expect(try number("SELECT count(*) FROM hole") == 1)
        #expect(try FileSystem.read(payloadPath, bytesMax: 1 << 20)?.contains(secret) == true)
        storage = try shard.open()
        storage.write(rows(22...22))
        _ = try storage.waited { storage.checkpoint(completion: $0) }
        #expect(try storage.waited { storage.message(life, seq: 20, completion: $0) } == rows(20...20)[0])
        storage.close()
        #expect(try number("SELECT count(*) FROM hole") == 0)
        #expect(try !fileContains(secret))
    }

    @Test func `what a transaction left that nobody knows of is cleared at the start`() async throws {
        var storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let bytes = try #require(try FileSystem.read(payloadPath, bytesMax: 1 << 20))
        try FileSystem.replace(payloadPath, with: bytes + secret)
        storage = try shard.open()
        storage.write(rows(21...21))
        _ = try await storage.checkpoint()
        #expect(try await all(storage) == rows(1...21))
        storage.close()
        #expect(try !fileContains(secret))
    }

    /// The rows of a transaction that failed may come again in another way, or never.
    @Test func `what a failed transaction wrote is cleared by the next checkpoint`() async throws {
        let storage = try shard.open(disk: disk)
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        // The payloads are written, and the database's pages are not.
        disk.fillUp(after: 1)
        storage.write(withSecret(21...40))
        await #expect(throws: StorageError.self) { _ = try await storage.checkpoint() }
        disk.isFull = false
        // An amendment comes with them: no block is made.
        var amended = rows(24...24, bytes: 30)[0]
        (amended.index, amended.isAmendment) = (41, true)
        storage.write([amended], applied: 41)
        storage.write([], [Erasure(incarnation: life, seq: 24, day: noon.day, index: 42)])
        _ = try await storage.checkpoint()
        #expect(try await all(storage).map(\.seq) == Array(1...40))
        storage.close()
        #expect(try number("SELECT end FROM payload_file") == 20 * 200)
        #expect(try !fileContains(secret))
    }

    @Test(arguments: [
        "end = -1", "end = 9223372036854775807", "synced = 5000", "synced = -1", "synced_block = -1",
        "end = 3000, synced = 3000",
    ])
    func `numbers that can't be are told as damage, and clear nothing`(change: String) async throws {
        let storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let before = try FileSystem.read(payloadPath, bytesMax: 1 << 20)
        let database = try Database(path: path, options: DatabaseOptions())
        try database.execute("UPDATE payload_file SET \(change)")
        database.close()
        let error = #expect(throws: SQLiteError.self) { try DayFile(path: path, vfs: nil) { $0 }.close() }
        #expect(error?.code == .corrupt)
        #expect(try FileSystem.read(payloadPath, bytesMax: 1 << 20) == before)
    }

    @Test func `a file that ends before its payloads do is told when it is opened`() async throws {
        let storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let bytes = try #require(try FileSystem.read(payloadPath, bytesMax: 1 << 20))
        try FileSystem.replace(payloadPath, with: bytes.dropLast())
        let error = #expect(throws: SQLiteError.self) { try DayFile(path: path, vfs: nil) { $0 }.close() }
        #expect(error?.code == .corrupt)
    }

    @Test func `the file goes with its day`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        #expect(FileSystem.exists(payloadPath))
        shard.clock.now = noon.adding(seconds: 12 * 86_400)
        try await storage.removeExpiredFiles()
        #expect(!FileSystem.exists(path) && !FileSystem.exists(payloadPath))
    }
}
