import ChatModel
import StorageTestKit
import Testing

@testable import History

/// Rows of past days that come late, as those of an import do.
@Suite struct PastDayTests {
    private let secondsPerDay: Int64 = 86_400
    private let other = Incarnation(2)

    /// Messages of room 1 are of today. Those of room 2 are of later entries and of past days, two a day.
    private func write(to storage: ShardStorage) {
        storage.write((1...9).map { row($0, at: noon.adding(seconds: Int64($0))) })
        var rows: [HistoryRow] = []
        for seq in 1...12 as ClosedRange<UInt64> {
            var late = row(seq, at: noon.adding(seconds: (Int64(seq + 1) / 2 - 7) * secondsPerDay))
            (late.incarnation, late.index) = (other, 9 + seq)
            rows.append(late)
        }
        storage.write(rows, applied: 21)
    }

    private func seqs(_ storage: ShardStorage, _ order: HistoryQuery.Order, from time: Timestamp? = nil) async throws
        -> [UInt64]
    {
        var query = HistoryQuery(incarnation: other, order: order, limit: 100)
        query.startTime = time
        return try await storage.page(query).rows.map(\.seq)
    }

    @Test func `they stand in the files of their days, are read in order, and are there after a restart`() async throws
    {
        let shard = try TestShard()
        var storage = try shard.open()
        write(to: storage)
        for _ in 0..<2 {
            #expect(try await seqs(storage, .ascending) == Array(1...12))
            #expect(try shard.fileNames().count { $0.hasPrefix("history") } == 7)
            #expect(try await seqs(storage, .descending) == Array(1...12).reversed())
            #expect(
                try await seqs(storage, .ascending, from: noon.adding(seconds: -4 * secondsPerDay)) == Array(5...12))
            #expect(try await seqs(storage, .descending, from: noon.adding(seconds: -4 * secondsPerDay)).first == 6)
            #expect(try await storage.message(3, of: other)?.time == noon.adding(seconds: -5 * secondsPerDay))
            _ = try await storage.checkpoint()
            storage.close()
            storage = try shard.open()
        }
        storage.close()
    }

    @Test func `a file that was read as absent, and closed at a checkpoint, takes them all the same`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        #expect(try await seqs(storage, .ascending) == [])
        write(to: storage)
        #expect(try await seqs(storage, .ascending) == Array(1...12))
        _ = try await storage.checkpoint()
        var late = row(13, at: noon.adding(seconds: -secondsPerDay + 5))
        (late.incarnation, late.index) = (other, 22)
        storage.write([late])
        #expect(try await seqs(storage, .ascending) == Array(1...13))
    }

    @Test func `a replica that installs a snapshot is given them, and those of later entries by the log`() async throws
    {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        write(to: source)
        let storage = try here.open()
        defer { storage.close() }
        // It had the first room before.
        storage.write((1...9).map { row($0, at: noon.adding(seconds: Int64($0))) })
        let index = try await storage.install(from: source)
        var late = row(13, at: noon.adding(seconds: -secondsPerDay + 5))
        (late.incarnation, late.index) = (other, index + 1)
        for replica in [source, storage] { replica.write([late]) }
        let manifest = try await source.historyManifest(atLeast: index)
        #expect(manifest.days.map(\.day) == (0...6).map { noon.day - 6 + $0 })
        try await storage.backfillAll(from: source, bytesMax: 100)
        #expect(storage.isHistoryComplete)
        #expect(try await seqs(storage, .ascending) == Array(1...13))
        #expect(try await storage.historyBytes() == source.historyBytes())
    }

    @Test func `they expire with their days, and one that has expired begins no file`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        write(to: storage)
        var old = row(1, at: noon.adding(seconds: -30 * secondsPerDay))
        (old.incarnation, old.index) = (Incarnation(3), 22)
        storage.write([old])
        _ = try await storage.checkpoint()
        #expect(try shard.fileNames().count { $0.hasPrefix("history") } == 7)
        // The oldest two days of ten go.
        shard.clock.now = noon.adding(seconds: 5 * secondsPerDay + 1)
        try await storage.removeExpiredFiles()
        #expect(try shard.fileNames().count { $0.hasPrefix("history") } == 5)
        #expect(try await seqs(storage, .ascending) == Array(5...12))
    }
}
