import ChatModel
import StorageTestKit
import Testing

@testable import History

/// Messages with like lives share the files of a day, which go whole (PROTOCOL.md, "History").
@Suite struct LivesTests {
    private let shard: TestShard

    init() throws { shard = try TestShard() }

    private static let day = Timestamp.millisecondsPerDay

    private static func row(_ seq: UInt64, _ kept: HistoryLife, of incarnation: Incarnation, days: Int64 = 0)
        -> HistoryRow
    {
        var made = historyRow(seq, at: noon.adding(milliseconds: days * day), of: incarnation)
        made.life = kept
        return made
    }

    /// From when on nothing is hidden by a room itself.
    private static func all(_ incarnation: Incarnation, _ order: HistoryQuery.Order = .ascending) -> HistoryQuery {
        HistoryQuery(incarnation: incarnation, order: order, limit: 100)
    }

    @Test func `each life has files of its own, which go when it is over`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        for (number, kept) in HistoryLife.allCases.enumerated() {
            storage.write([Self.row(1, kept, of: Incarnation(UInt64(number) + 1))], applied: UInt64(number) + 1)
        }
        _ = try await storage.checkpoint()
        let names = [
            "catalogue.sqlite", "history-2026-06-15-10d.sqlite", "history-2026-06-15-1d.sqlite",
            "history-2026-06-15-30d.sqlite", "history-2026-06-15-3650d.sqlite", "history-2026-06-15-366d.sqlite",
            "history-2026-06-15.sqlite",
        ]
        #expect(try shard.fileNames() == names)
        let ends = Dictionary(grouping: HistoryLife.allCases) { $0.days ?? 10 }.sorted { $0.key < $1.key }
        for (days, kept) in ends {
            shard.clock.now = noon.adding(milliseconds: days * Self.day)
            try await storage.removeExpiredFiles()
            for kept in kept {
                let incarnation = Incarnation(UInt64(kept.rawValue) + 1)
                #expect(try await storage.page(Self.all(incarnation)).rows.count == 1, "\(kept)")
            }
            shard.clock.now = noon.adding(milliseconds: days * Self.day + 1)
            for kept in kept { try await expectGone(kept, storage) }
        }
        #expect(try shard.fileNames() == ["catalogue.sqlite"])
    }

    private func expectGone(_ kept: HistoryLife, _ storage: ShardStorage) async throws {
        let incarnation = Incarnation(UInt64(kept.rawValue) + 1)
        #expect(try await storage.page(Self.all(incarnation)).rows.isEmpty, "\(kept)")
        #expect(try await storage.message(1, of: incarnation) == nil)
        try await storage.removeExpiredFiles()
        let name = HistoryFile(day: noon.day, life: kept).name
        #expect(try !shard.fileNames().contains(name))
        // Replay does not bring it back.
        storage.write([Self.row(1, kept, of: incarnation)], applied: 10)
        #expect(try await storage.page(Self.all(incarnation)).rows.isEmpty)
        #expect(try !shard.fileNames().contains(name))
    }

    @Test func `a room whose life changes is read over its files in order, also after a restart`() async throws {
        var storage = try shard.open()
        // Ten days for two days, then thirty for two, then one.
        let kept: [HistoryLife] = [.tenDays, .tenDays, .month, .month, .day]
        let rows = (0..<10).map { Self.row(UInt64($0) + 1, kept[$0 / 2], of: life, days: Int64($0 / 2)) }
        storage.write(rows)
        storage.write([], [Erasure(incarnation: life, seq: 5, day: noon.day + 2, index: 30, life: .month)])
        shard.clock.now = noon.adding(milliseconds: 4 * Self.day)
        for reopens in [false, true] {
            if reopens {
                _ = try await storage.checkpoint()
                storage.close()
                storage = try shard.open()
            }
            let page = try await storage.page(Self.all(life))
            #expect(page.rows.map(\.seq) == Array(1...10))
            #expect(page.rows.filter(\.recalled).map(\.seq) == [5])
            #expect(try await storage.page(Self.all(life, .descending)).rows.map(\.seq) == (1...10).reversed())
            var after = Self.all(life)
            (after.afterSeq, after.limit) = (3, 4)
            let middle = try await storage.page(after)
            #expect(middle.rows.map(\.seq) == [4, 5, 6, 7] && middle.more)
            #expect(try await storage.message(5)?.recalled == true)
        }
        // A day later the last two have gone by their files, though older ones are there.
        shard.clock.now = noon.adding(milliseconds: 5 * Self.day + 1)
        #expect(try await storage.page(Self.all(life)).rows.map(\.seq) == Array(1...8))
        // The room's own life hides more.
        var own = Self.all(life)
        own.visibleSince = noon.adding(milliseconds: 3 * Self.day)
        #expect(try await storage.page(own).rows.map(\.seq) == [7, 8])
        storage.close()
    }

    @Test func `a recall that comes before its message finds it in the file of its life`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([], [Erasure(incarnation: life, seq: 1, day: noon.day, index: 9, life: .year)])
        storage.write([Self.row(1, .year, of: life)])
        #expect(try await storage.page(Self.all(life)).rows.map(\.recalled) == [true])
    }

    @Test func `a replica and a backup get the files of every life`() async throws {
        let here = try TestShard()
        let source = try shard.open()
        defer { source.close() }
        for (number, kept) in HistoryLife.allCases.enumerated() {
            source.write([Self.row(1, kept, of: Incarnation(UInt64(number) + 1))], applied: UInt64(number) + 1)
        }
        source.write([], [Erasure(incarnation: Incarnation(9), seq: 4, day: noon.day, index: 7, life: .month)])
        source.write([try roomRow("a", index: 8)], applied: 8)
        let storage = try here.open()
        let index = try await storage.install(from: source)
        let manifest = try await source.historyManifest(atLeast: index)
        #expect(Set(manifest.days.map(\.day)).count == 6)
        #expect(manifest.days.contains { $0.day == noon.day }, "files of the standard life are named as before")
        _ = try await storage.plan(manifest, index)
        var steps = 0
        while try await storage.backfillOnce(from: source, bytesMax: 150) {
            steps += 1
            try #require(steps < 100)
        }
        _ = try await storage.checkpoint()
        #expect(storage.isHistoryComplete)
        let files = try shard.fileNames().filter { $0.hasPrefix("history") }
        #expect(try here.fileNames().filter { $0.hasPrefix("history") } == files && files.count == 6)
        #expect(try await storage.historyBytes() == source.historyBytes())
        storage.close()
    }

    @Test func `a name and a number stand for a file, and no other ones do`() throws {
        for kept in HistoryLife.allCases {
            for day in [0, noon.day, 2_932_896, -719_528] {
                let file = HistoryFile(day: day, life: kept)
                #expect(HistoryFile(name: file.name) == file && HistoryFile(number: file.number) == file)
            }
        }
        #expect(HistoryFile(day: noon.day).number == noon.day)
        let names = [
            "", "history-2026-06-15", "history-2026-06-15-2d.sqlite", "history-2026-06-15-010d.sqlite",
            "history-2026-06-31-1d.sqlite", "history-2026-06-15-1d-1d.sqlite", "history-2026-06-15-1d.sqlite-wal",
        ]
        for name in names { #expect(HistoryFile(name: name) == nil, "\(name)") }
        let month = HistoryFile(day: 0, life: .decade).number
        for number in [Int64.min, .max, month * 2, 2_932_897, -719_529] {
            #expect(HistoryFile(number: number) == nil, "\(number)")
        }
        #expect(HistoryLife(days: 1) == .day && HistoryLife(days: 2) == .tenDays && HistoryLife(days: 11) == .month)
        #expect(
            HistoryLife(days: 31) == .year && HistoryLife(days: 367) == .decade && HistoryLife(days: 9999) == .decade)
    }
}

private func historyRow(_ seq: UInt64, at time: Timestamp, of incarnation: Incarnation) -> HistoryRow {
    row(seq, at: time, of: incarnation)
}
