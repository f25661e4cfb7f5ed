import ChatModel
import History
import StorageTestKit
import Synchronization
import Testing

@Suite struct HistoryTests {
    let shard: TestShard

    init() throws { shard = try TestShard() }

    @Test func `a read sees what was written before it, also after a restart`() async throws {
        var storage = try shard.open()
        storage.write([row(1), row(2, type: 7), row(3, sender: nil)])
        for _ in 0..<2 {
            let page = try await storage.page(HistoryQuery(incarnation: life, order: .ascending))
            #expect(page.rows == [row(1), row(2, type: 7), row(3, sender: nil)])
            #expect(!page.more)
            #expect(try await storage.message(2) == row(2, type: 7))
            #expect(try await storage.message(4) == nil)
            #expect(try await storage.page(HistoryQuery(incarnation: Incarnation(2))).rows.isEmpty)
            storage.close()
            storage = try shard.open()
        }
        storage.close()
    }

    @Test func `the exact last page says that there is no more`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write((1...6).map { row($0) })
        for order in HistoryQuery.Order.allCases {
            var query = HistoryQuery(incarnation: life, order: order, limit: 6)
            #expect(try await storage.page(query).more == false)
            query.limit = 5
            #expect(try await storage.page(query).more == true)
            query.limit = 3
            query.beforeSeq = order == .descending ? 4 : nil
            query.afterSeq = order == .ascending ? 3 : nil
            let page = try await storage.page(query)
            #expect(page.rows.count == 3)
            #expect(!page.more)
        }
    }

    @Test func `a message is visible at exactly ten days and not a millisecond longer`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        let tenDays = 10 * Timestamp.millisecondsPerDay
        // Two in the same file, one in the next file.
        storage.write([row(1), row(2, at: noon.adding(milliseconds: 1)), row(3, at: noon.adding(seconds: 86_400))])
        func visible() async throws -> [[UInt64]] {
            var seqs: [[UInt64]] = []
            for order in HistoryQuery.Order.allCases {
                let page = try await storage.page(HistoryQuery(incarnation: life, order: order, limit: 100))
                #expect(!page.more)
                seqs.append(page.rows.map(\.seq).sorted())
            }
            var single: [UInt64] = []
            for seq in 1...3 as ClosedRange<UInt64> where try await storage.message(seq) != nil { single.append(seq) }
            return seqs + [single]
        }
        shard.clock.now = noon.adding(milliseconds: tenDays)
        #expect(try await visible() == [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
        shard.clock.now = noon.adding(milliseconds: tenDays + 1)
        #expect(try await visible() == [[2, 3], [2, 3], [2, 3]])
        shard.clock.now = noon.adding(milliseconds: tenDays + 2)
        #expect(try await visible() == [[3], [3], [3]])
        // Exact also where a page ends at the edge.
        var page = try await storage.page(HistoryQuery(incarnation: life, order: .descending, limit: 1))
        #expect(page.rows.map(\.seq) == [3])
        #expect(!page.more)
        shard.clock.now = noon.adding(milliseconds: tenDays + 1)
        page = try await storage.page(HistoryQuery(incarnation: life, order: .descending, limit: 1))
        #expect(page.more)
    }

    @Test func `a file goes when its last row has expired and not before`() async throws {
        var storage = try shard.open()
        let tenDays = 10 * Timestamp.millisecondsPerDay
        storage.write([row(1), row(2, at: noon.adding(seconds: 60)), row(3, at: noon.adding(seconds: 86_400))])
        _ = try await storage.checkpoint()
        let both = ["catalogue.sqlite", "history-2026-06-15.sqlite", "history-2026-06-16.sqlite"]
        for reopens in [false, true] {
            if reopens {
                storage.close()
                storage = try shard.open()
            }
            shard.clock.now = noon.adding(milliseconds: tenDays + 60_000)
            try await storage.removeExpiredFiles()
            #expect(try shard.fileNames() == both)
            #expect(try await storage.message(2) != nil)
        }
        shard.clock.now = noon.adding(milliseconds: tenDays + 60_001)
        // A reader has it open; it must be closed before the file goes.
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.map(\.seq) == [3])
        try await storage.removeExpiredFiles()
        #expect(try shard.fileNames() == ["catalogue.sqlite", "history-2026-06-16.sqlite"])
        let left = try TemporaryDirectory.names(in: shard.directory.path + "/shard")
        #expect(!left.contains { $0.contains("06-15") })
        // Replay of expired rows does not bring it back.
        storage.write([row(1), row(2, at: noon.adding(seconds: 60))], applied: 3)
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.map(\.seq) == [3])
        #expect(try shard.fileNames() == ["catalogue.sqlite", "history-2026-06-16.sqlite"])
        storage.close()
    }

    /// A replica whose clock is wrong neither leads nor answers reads. It must have everything when the clock is right again.
    @Test func `nothing goes by a clock that others do not agree with`() async throws {
        let agreed = Agreement()
        let storage = try shard.open { $0.removesExpired = { agreed.isThere.withLock { $0 } } }
        storage.write([row(1)])
        _ = try await storage.checkpoint()
        shard.clock.now = noon.adding(seconds: 12 * 86_400)
        try await storage.removeExpiredFiles()
        // Rows that come meanwhile are kept, too, though this clock says that they have expired.
        storage.write([row(2)], applied: 2)
        _ = try await storage.checkpoint()
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.isEmpty)
        shard.clock.now = noon.adding(seconds: 60)
        let seqs = try await storage.page(HistoryQuery(incarnation: life)).rows.map(\.seq)
        #expect(seqs == [2, 1])
        shard.clock.now = noon.adding(seconds: 12 * 86_400)
        agreed.isThere.withLock { $0 = true }
        try await storage.removeExpiredFiles()
        #expect(try shard.fileNames() == ["catalogue.sqlite"])
        storage.close()
    }

    private final class Agreement: Sendable {
        let isThere = Mutex(false)
    }

    @Test func `an idle shard has no history files`() async throws {
        let storage = try shard.open()
        storage.write([HistoryRow](), applied: 7)
        let page = try await storage.page(HistoryQuery(incarnation: life))
        #expect(page.rows.isEmpty && !page.more)
        #expect(try await storage.checkpoint() == 7)
        #expect(try shard.fileNames() == ["catalogue.sqlite"])
        storage.close()
    }

    @Test func `replay changes nothing, and older rows never win`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        let rows = (1...20).map { row($0) }
        let erasure = Erasure(incarnation: life, seq: 5, day: noon.day, index: 30)
        storage.write(rows)
        storage.write([], [erasure])
        let before = try await storage.page(HistoryQuery(incarnation: life, limit: 100))
        storage.write(Array(rows[3...]))
        storage.write([], [erasure])
        var older = row(9, index: 3)
        older.payload = [99]
        storage.write([older], applied: 40)
        #expect(try await storage.page(HistoryQuery(incarnation: life, limit: 100)) == before)
        let recalled = try #require(try await storage.message(5))
        #expect(recalled.recalled)
        #expect(recalled.payload == [0])
        #expect(recalled.index == 30)
        #expect(recalled.sender == "ann")
    }

    @Test func `a recall that comes before its row hides the body of the row when it comes`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write(
            [],
            [
                Erasure(incarnation: life, seq: 1, day: noon.day, index: 50),
                Erasure(incarnation: life, seq: 2, day: noon.day, index: 51, replacement: [7, 7]),
            ])
        #expect(try await storage.message(1) == nil)
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.isEmpty)
        storage.write([row(1), row(2), row(3)], applied: 60)
        let rows = try await storage.page(HistoryQuery(incarnation: life, order: .ascending)).rows
        #expect(rows.map(\.recalled) == [true, true, false])
        #expect(rows.map(\.payload) == [[0], [7, 7], row(3).payload])
        #expect(rows.map(\.index) == [50, 51, 3])
        #expect(rows.map(\.time) == [noon, noon, noon])
        // And again by replay.
        storage.write([row(1)], applied: 61)
        #expect(try await storage.message(1) == rows[0])
    }

    @Test func `a recall of another day's message reaches that day's file`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([row(1)])
        shard.clock.now = noon.adding(seconds: 2 * 86_400)
        _ = try await storage.checkpoint()
        storage.write([], [Erasure(incarnation: life, seq: 1, day: noon.day, index: 9)])
        #expect(try await storage.message(1)?.recalled == true)
        #expect(try await storage.checkpoint() == 9)
    }

    @Test func `a recalled body is not left in the files`() async throws {
        let storage = try shard.open()
        let secret = Array("do not keep this sentence".utf8)
        var secretRow = row(1)
        secretRow.payload = secret
        storage.write([secretRow, row(2)])
        _ = try await storage.checkpoint()
        storage.write([], [Erasure(incarnation: life, seq: 1, day: noon.day, index: 9)])
        #expect(try await storage.message(1)?.recalled == true)
        storage.close()
        let file = try shard.directory.bytes("shard/history-2026-06-15.sqlite")
        #expect(file.firstRange(of: secret) == nil)
    }

    @Test func `a room is loaded with its tail and the commands of ten minutes`() async throws {
        let storage = try shard.open { $0.hotTailRows = 50 }
        defer { storage.close() }
        shard.clock.now = noon
        // One message every 10 s, the last one now; the rows begin the day before.
        let count: UInt64 = 6_000
        let rows = (1...count).map { row($0, at: noon.adding(seconds: -10 * Int64(count - $0))) }
        storage.write(rows)
        storage.write([try roomRow("r", index: count + 1)], applied: count + 1)
        let loaded = try await storage.loadRoom(try room("r"))
        #expect(loaded.catalogue == [try roomRow("r", index: count + 1)])
        #expect(loaded.tail == Array(rows.suffix(50)))
        #expect(loaded.commands.map(\.seq) == (0...60).map { count - $0 })
        #expect(loaded.commands.first?.key == rows.last?.command)
        #expect(loaded.commands.last?.time == noon.adding(seconds: -600))
        // However late: entries that are applied to it now may be stamped soon after its newest message.
        shard.clock.now = noon.adding(seconds: 3_600)
        #expect(try await storage.loadRoom(try room("r")).commands == loaded.commands)
        // Rows of later entries than the room's own are ahead of it, and do not set the bound.
        let later = row(count + 1, at: noon.adding(seconds: 1_200), index: count + 50)
        storage.write([later])
        let ahead = try await storage.loadRoom(try room("r")).commands
        #expect(ahead.map(\.seq) == [count + 1] + loaded.commands.map(\.seq))
        #expect(try await storage.loadRoom(try room("other")).catalogue.isEmpty)
    }
}
