import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

/// Rows that share a row of the file.
@Suite struct BlockTests {
    private let shard: TestShard

    init() throws { shard = try TestShard(blockRowsMin: 8, inlinePayloadsMax: 300) }

    private var path: String { shard.directory.path + "/shard/history-2026-06-15.sqlite" }

    /// The sum of all days.
    private func number(_ sql: String) throws -> Int64 {
        try shard.fileNames().filter { $0.hasPrefix("history") }.reduce(0) { sum, name in
            let path = shard.directory.path + "/shard/" + name
            let database = try Database(path: path, options: DatabaseOptions())
            defer { database.close() }
            let statement = try database.prepare(sql)
            defer { statement.reset() }
            return try statement.step() ? sum + statement.int64(0) : sum
        }
    }

    private func blocks() throws -> Int64 { try number("SELECT count(*) FROM block") }
    private func ownRows() throws -> Int64 { try number("SELECT count(*) FROM message") }

    private func rows(_ seqs: ClosedRange<UInt64>, bytes: Int = 10) -> [HistoryRow] {
        seqs.map { row($0, at: noon.adding(milliseconds: Int64($0)), bytes: bytes) }
    }

    /// All seqs of the room, in pages.
    private func seqs(_ storage: ShardStorage, _ order: HistoryQuery.Order = .ascending) async throws -> [UInt64] {
        var query = HistoryQuery(incarnation: life, order: order, limit: 100)
        var (seqs, more): ([UInt64], Bool) = ([], true)
        while more {
            let page = try await storage.page(query)
            seqs += page.rows.map(\.seq)
            more = page.more
            if order == .ascending { query.afterSeq = seqs.last } else { query.beforeSeq = seqs.last }
        }
        return seqs
    }

    @Test func `rows of one room that are written together share a row of the file, and fewer than eight do not`()
        async throws
    {
        let storage = try shard.open()
        storage.write(rows(1...7))
        _ = try await storage.checkpoint()
        storage.write(rows(8...15))
        _ = try await storage.checkpoint()
        // At most 64 of them, and 32 KB.
        storage.write(rows(16...115))
        _ = try await storage.checkpoint()
        storage.write(rows(116...135, bytes: 4_000))
        _ = try await storage.checkpoint()
        #expect(try await seqs(storage) == Array(1...135))
        #expect(try await seqs(storage, .descending) == (1...135).reversed())
        let all = rows(1...115) + rows(116...135, bytes: 4_000)
        for one in all { #expect(try await storage.message(one.seq) == one) }
        #expect(try await storage.message(136) == nil)
        storage.close()
        // 8...15, 16...79, 80...115, 116...123, 124...131; four are left.
        #expect(try blocks() == 5)
        #expect(try ownRows() == 7 + 4)
    }

    @Test func `what the log brings again is left as it is`() async throws {
        let storage = try shard.open()
        storage.write(rows(1...100))
        _ = try await storage.checkpoint()
        storage.write(rows(50...150))
        storage.write(rows(1...3), applied: 150)
        _ = try await storage.checkpoint()
        #expect(try await seqs(storage) == Array(1...150))
        storage.close()
        #expect(try ownRows() == 0)
        // 1...64, 65...100, 101...150.
        #expect(try blocks() == 3)
    }

    @Test func `a message that comes later than its neighbours is between them`() async throws {
        let storage = try shard.open()
        let all = rows(1...60)
        storage.write(all.filter { ![20, 30].contains($0.seq) })
        _ = try await storage.checkpoint()
        storage.write([all[19]], applied: 60)
        storage.write([all[29]], applied: 60)
        #expect(try await seqs(storage) == Array(1...60))
        #expect(try await storage.message(20) == all[19])
        _ = try await storage.checkpoint()
        storage.close()
        #expect(try blocks() == 0)
    }

    @Test func `no block reaches over another one`() async throws {
        let storage = try shard.open { $0.blockRowsMin = 1 }
        let all = rows(1...9)
        storage.write([all[4]], applied: 5)
        _ = try await storage.checkpoint()
        storage.write(all.filter { $0.seq != 5 })
        _ = try await storage.checkpoint()
        #expect(try await seqs(storage) == Array(1...9))
        storage.close()
        #expect(try blocks() == 3 && overlaps() == 0)
    }

    /// Pairs of blocks with a seq in common, and rows of their own within one.
    private func overlaps() throws -> Int64 {
        try number(
            """
            SELECT (SELECT count(*) FROM block a JOIN block b ON a.incarnation = b.incarnation AND a.id < b.id
                    WHERE a.first <= b.last AND b.first <= a.last)
                + (SELECT count(*) FROM block JOIN message USING (incarnation) WHERE seq BETWEEN first AND last)
            """)
    }

    /// A message that is recalled must not stay readable in the file.
    @Test func `the text of a recalled message is nowhere in the files`() async throws {
        let storage = try shard.open()
        var all = rows(1...64, bytes: 200)
        all[30].payload = Array("a secret that was told by mistake".utf8)
        storage.write(all)
        _ = try await storage.checkpoint()
        #expect(try contains(all[30].payload))
        storage.write([], [Erasure(incarnation: life, seq: 31, day: noon.day, index: 100)])
        _ = try await storage.checkpoint()
        let found = try #require(try await storage.message(31))
        #expect(found.recalled && found.payload == [0])
        #expect(try await seqs(storage) == Array(1...64))
        storage.close()
        #expect(try !contains(all[30].payload))
    }

    private func contains(_ bytes: [UInt8]) throws -> Bool {
        for suffix in ["", "-wal", PayloadFile.suffix] where FileSystem.exists(path + suffix) {
            let all = try FileSystem.read(path + suffix, bytesMax: 1 << 24) ?? []
            if all.contains(bytes) { return true }
        }
        return false
    }

    /// The same into two storages, one of which never makes a block: nobody can tell them apart.
    @Test(arguments: SeededGenerator.seeds(6))
    func `history reads the same with blocks and without`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let plain = try TestShard()
        let blockRowsMin = [1, 2, 8][Int(seed % 3)]
        var storages = [
            try shard.open { $0.blockRowsMin = blockRowsMin }, try plain.open { $0.blockRowsMin = .max },
        ]
        let lives = [Incarnation(3), Incarnation(.max), Incarnation(900)]
        var written: [[HistoryRow]] = []
        var next: [UInt64] = [1, 1, 1]
        var index: UInt64 = 0
        for _ in 0..<60 {
            let number = Int.random(in: 0..<3, using: &random)
            var batch: ([HistoryRow], [Erasure]) = ([], [])
            switch Int.random(in: 0..<10, using: &random) {
            case 0...5:
                for _ in 0..<Int.random(in: 1...90, using: &random) {
                    let time = noon.adding(seconds: -3 * 86_400 + Int64(next[number]) * 300)
                    index += 1
                    var one = row(
                        next[number], at: time, index: index, of: lives[number],
                        type: .random(in: 0...3, using: &random),
                        sender: [nil, "ann", "ann", "bob"].randomElement(using: &random) ?? nil,
                        bytes: .random(in: 0...900, using: &random))
                    if Int.random(in: 0..<40, using: &random) == 0 { one.copies = [1, 2] }
                    if Int.random(in: 0..<9, using: &random) == 0 { one.command = nil }
                    next[number] += Int.random(in: 0..<30, using: &random) == 0 ? 4 : 1
                    // Some come later, by back-fill.
                    if Int.random(in: 0..<60, using: &random) > 0 { batch.0.append(one) } else { written.append([one]) }
                }
            case 6:
                // Replay, from somewhere on.
                guard !written.isEmpty else { break }
                for rows in written.suffix(Int.random(in: 1...3, using: &random)) { batch.0 += rows }
            case 7...8:
                guard let one = written.randomElement(using: &random)?.randomElement(using: &random) else { break }
                index += 1
                batch.1.append(
                    Erasure(
                        incarnation: one.incarnation, seq: one.seq, day: one.time.day, index: index,
                        replacement: Bool.random(using: &random) ? [7] : nil))
            default:
                guard var one = written.randomElement(using: &random)?.randomElement(using: &random) else { break }
                index += 1
                (one.index, one.payload, one.command, one.copies) = (index, [UInt8](repeating: 9, count: 40), nil, nil)
                one.isAmendment = true
                batch.0.append(one)
            }
            if !batch.0.isEmpty, !batch.0.contains(where: \.isAmendment) { written.append(batch.0) }
            for storage in storages { storage.write(batch.0, batch.1, applied: index) }
            if Int.random(in: 0..<3, using: &random) == 0 {
                for storage in storages { _ = try await storage.checkpoint() }
            }
            if Int.random(in: 0..<15, using: &random) == 0 {
                for storage in storages { storage.close() }
                storages = [
                    try shard.open { $0.blockRowsMin = blockRowsMin }, try plain.open { $0.blockRowsMin = .max },
                ]
            }
        }
        #expect(try await storages[0].historyBytes() == storages[1].historyBytes(), "seed \(seed)")
        for _ in 0..<60 {
            var query = HistoryQuery(incarnation: lives.randomElement(using: &random) ?? lives[0])
            query.order = Bool.random(using: &random) ? .ascending : .descending
            query.limit = .random(in: 1...100, using: &random)
            if Bool.random(using: &random) {
                query.startTime = noon.adding(seconds: .random(in: (-3 * 86_400)...0, using: &random))
            }
            if Bool.random(using: &random) { query.beforeSeq = .random(in: 0...1_000, using: &random) }
            if Bool.random(using: &random) { query.afterSeq = .random(in: 0...1_000, using: &random) }
            if Bool.random(using: &random) { query.types = [1, 2] }
            if Int.random(in: 0..<4, using: &random) == 0 { query.sender = "bob" }
            if Int.random(in: 0..<4, using: &random) == 0 { query.withoutPayload = true }
            let pages = [try await storages[0].page(query), try await storages[1].page(query)]
            #expect(pages[0].rows.map(\.seq) == pages[1].rows.map(\.seq), "seed \(seed), \(query)")
            let areEqual = pages[0].rows == pages[1].rows && pages[0].more == pages[1].more
            #expect(areEqual, "seed \(seed), \(query)")
            let seq = UInt64.random(in: 0...800, using: &random)
            let one = try await storages[0].message(seq, of: query.incarnation, withCopies: true)
            #expect(
                one == (try await storages[1].message(seq, of: query.incarnation, withCopies: true)), "seed \(seed)")
        }
        for storage in storages { storage.close() }
        #expect(try blocks() > 0, "seed \(seed) compares nothing")
        #expect(try overlaps() == 0, "seed \(seed)")
    }

    @Test func `who reads while blocks are opened misses nothing`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write(rows(1...2_000, bytes: 100))
        _ = try await storage.checkpoint()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var index: UInt64 = 3_000
                for seq in stride(from: UInt64(1), through: 2_000, by: 31) {
                    index += 1
                    storage.write([], [Erasure(incarnation: life, seq: seq, day: noon.day, index: index)])
                    _ = try await storage.checkpoint()
                }
            }
            for order in HistoryQuery.Order.allCases {
                group.addTask {
                    for _ in 0..<10 {
                        let found = try await seqs(storage, order)
                        #expect(found == (order == .ascending ? Array(1...2_000) : (1...2_000).reversed()))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `who reads while blocks are written skips none of them`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for batch in 0..<60 as Range<UInt64> {
                    storage.write(rows(1 + 70 * batch...70 + 70 * batch))
                    if batch % 8 == 0 { _ = try await storage.checkpoint() }
                }
            }
            group.addTask {
                for _ in 0..<40 {
                    let found = try await seqs(storage)
                    #expect(found == (0..<UInt64(found.count)).map { $0 + 1 })
                }
            }
            try await group.waitForAll()
        }
    }

    /// The number of a block that has gone is given to the next one, maybe of another room.
    @Test func `a read sees one state, whatever becomes of a block meanwhile`() throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write(rows(1...20))
        _ = try storage.waited { storage.checkpoint(completion: $0) }
        let reader = try DayReader(path: path, vfs: nil)
        defer { reader.close() }
        try reader.database.execute("BEGIN")
        let block = try #require(try reader.blocks()?.block(life, around: 20))
        storage.write([], [Erasure(incarnation: life, seq: 5, day: noon.day, index: 21)])
        storage.write((1...20).map { row($0, index: 21 + $0, of: Incarnation(2), bytes: 10) })
        #expect(try storage.waited { storage.message(life, seq: 5, completion: $0) }?.recalled == true)
        #expect(try storage.waited { storage.message(Incarnation(2), seq: 20, completion: $0) } != nil)
        #expect(try block.row(19) == rows(20...20)[0])
        #expect(try reader.row(life, seq: 5)?.recalled == false)
        try reader.database.rollback()
        #expect(try reader.row(life, seq: 5)?.recalled == true)
        #expect(try reader.row(life, seq: 20) == rows(20...20)[0])
    }

    @Test func `a block with other seqs than it says is damage, for writers, too`() async throws {
        var storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let database = try Database(path: path, options: DatabaseOptions())
        try database.execute("UPDATE block SET last = 30")
        database.close()
        storage = try shard.open()
        defer { storage.close() }
        let error = await #expect(throws: StorageError.self) { _ = try await storage.message(25) }
        #expect(error?.code == .corrupt)
        storage.write(rows(25...25))
        let failure = await #expect(throws: StorageError.self) { _ = try await storage.checkpoint() }
        #expect(failure?.code == .corrupt)
    }

    // MARK: - Formats

    @Test func `a file of before is read as it is, and has blocks once the level brings them`() async throws {
        var storage = try shard.open { $0.level = .first }
        storage.write(rows(1...40))
        _ = try await storage.checkpoint()
        storage.close()
        #expect(try number("PRAGMA user_version") == 2)
        storage = try shard.open { $0.level = .first }
        #expect(try await seqs(storage) == Array(1...40))
        storage.close()
        storage = try shard.open()
        storage.write(rows(30...80))
        _ = try await storage.checkpoint()
        #expect(try await seqs(storage) == Array(1...80))
        #expect(try await seqs(storage, .descending) == (1...80).reversed())
        storage.close()
        #expect(try number("PRAGMA user_version") == 4)
        // Those that were there share no block with the new ones.
        storage = try shard.open()
        storage.write(rows(81...120))
        _ = try await storage.checkpoint()
        #expect(try await seqs(storage) == Array(1...120))
        storage.close()
        #expect(try blocks() == 1)
        #expect(try ownRows() == 80)
    }

    /// A node that joins hears of the level after its start, and an upgrade raises it while all nodes run.
    @Test func `files have blocks from the moment at which the level comes, those that are open too`() throws {
        let storage = try shard.open { $0.level = .first }
        defer { storage.close() }
        func checkpoint() throws { _ = try storage.waited { storage.checkpoint(completion: $0) } }
        func seqs() throws -> [UInt64] {
            try storage.waited {
                storage.page(
                    HistoryQuery(incarnation: life, order: .ascending, limit: 100), for: nil, completion: $0)
            }.rows.map(\.seq)
        }
        storage.write(rows(1...20))
        #expect(try seqs() == Array(1...20))
        let reader = try DayReader(path: path, vfs: nil)
        defer { reader.close() }
        #expect(try reader.blocks() == nil)
        storage.use(FeatureLevel(2))
        try checkpoint()
        storage.write(rows(21...60))
        // By readers that have had the file open all the time.
        #expect(try seqs() == Array(1...60))
        #expect(try reader.row(life, seq: 50) == rows(50...50)[0])
        storage.write([], [Erasure(incarnation: life, seq: 30, day: noon.day, index: 61)])
        #expect(try storage.waited { storage.message(life, seq: 30, completion: $0) }?.recalled == true)
        #expect(try number("PRAGMA user_version") == 4)
        // A lower one is none.
        storage.use(.first)
        storage.write(rows(62...80))
        try checkpoint()
        #expect(try seqs() == Array(1...60) + Array(62...80))
        #expect(try blocks() == 1)
    }

    private func heads(of rows: [HistoryRow]) -> BlockBuilder {
        var block = BlockBuilder()
        let packed = HistoryRows(rows)
        packed.bytes.withUnsafeBytes { bytes in packed.forEachPlace(in: bytes) { row, _ in block.append(row) } }
        return block
    }

    private func some(_ random: inout SeededGenerator) -> [HistoryRow] {
        var seq = UInt64.random(in: 0...(1 << 40), using: &random)
        return (0..<Int.random(in: 1...20, using: &random)).map { _ in
            seq += .random(in: 1...(1 << 20), using: &random)
            var one = row(
                seq, at: Timestamp(.random(in: Int64.min...Int64.max, using: &random)),
                index: .random(in: 0...UInt64.max, using: &random),
                type: .random(in: Int.min...Int.max, using: &random),
                sender: [nil, "", "ann", "ann", "bob"].randomElement(using: &random) ?? nil,
                bytes: .random(in: 0...300, using: &random))
            if Bool.random(using: &random) { one.command = nil }
            return one
        }
    }

    @Test(arguments: SeededGenerator.seeds(20)) func `the rows of a block are those that were put in`(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let rows = some(&random)
            let block = heads(of: rows)
            let read = try BlockHeads(decoding: block.heads)
            #expect(try read.rows.map { try read.row($0, of: life, payloads: block.payloads) } == rows)
            for one in rows { #expect(read.number(of: one.seq).map { read.rows[$0].seq } == one.seq) }
            #expect(read.number(of: (rows.last?.seq ?? 0) + 1) == nil)
            // Payloads that end too early.
            guard !block.payloads.isEmpty else { continue }
            let error = #expect(throws: SQLiteError.self) {
                for row in read.rows { _ = try read.row(row, of: life, payloads: Array(block.payloads.dropLast())) }
            }
            #expect(error?.code == .corrupt)
        }
    }

    @Test(arguments: SeededGenerator.seeds(20)) func `damaged heads are refused, or are those of other rows`(
        seed: UInt64
    ) {
        var random = SeededGenerator(seed: seed)
        let block = heads(of: some(&random))
        for end in 0..<block.heads.count { check(Array(block.heads[..<end])) }
        for _ in 0..<2_000 {
            var bytes = block.heads
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            check(bytes)
            check((0..<Int.random(in: 0...60, using: &random)).map { _ in .random(in: 0...255, using: &random) })
        }
    }

    /// Nothing stops the process, whatever the bytes are.
    private func check(_ bytes: [UInt8]) {
        do throws(SQLiteError) {
            let heads = try BlockHeads(decoding: bytes)
            #expect(!heads.rows.isEmpty)
            #expect(zip(heads.rows, heads.rows.dropFirst()).allSatisfy { $0.seq < $1.seq })
            for row in heads.rows {
                _ = heads.sender(of: row)
                #expect(heads.number(of: row.seq) != nil)
            }
        } catch {
            #expect(error.code == .corrupt)
        }
    }

    @Test func `a block that is damaged is told as damage`() async throws {
        var storage = try shard.open()
        storage.write(rows(1...20))
        _ = try await storage.checkpoint()
        storage.close()
        let database = try Database(path: path, options: DatabaseOptions())
        try database.execute("UPDATE block SET payloads = zeroblob(3), place = NULL")
        database.close()
        storage = try shard.open()
        defer { storage.close() }
        let error = await #expect(throws: StorageError.self) { _ = try await storage.message(20) }
        #expect(error?.code == .corrupt)
    }
}
