import ChatModel
import StorageTestKit
import Testing

@testable import History

@Suite struct BackfillTests {
    private let secondsPerDay: Int64 = 86_400

    /// Message `seq` is of entry `seq`; ten a day, from four days ago on.
    private func message(_ seq: UInt64, bytes: Int = 10) -> HistoryRow {
        row(seq, at: noon.adding(seconds: (Int64(seq) / 10 - 4) * secondsPerDay), bytes: bytes)
    }

    @Test func `history is filled in day by day, goes on after a restart, and is complete only then`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write((1...45).map { message($0) })
        source.write([try roomRow("a", index: 46)], applied: 46)
        var storage = try here.open()
        // A prefix of it is here.
        storage.write((1...12).map { message($0) })
        let index = try await storage.install(from: source)
        #expect(storage.missingHistory == MissingHistory(snapshotIndex: index, knownIndex: 12))
        await expectFailure(.refused) { _ = try await storage.historyManifest() }
        await expectFailure(.refused) { _ = try await storage.historyChunk(noon.day, bytesMax: 1_000) }
        await expectFailure(.refused) { _ = try await source.historyManifest(atLeast: 47) }
        let manifest = try await source.historyManifest(atLeast: 46)
        #expect(manifest.days.map(\.day) == (0...4).map { noon.day - 4 + $0 })
        // One transaction may hold the batches of several entries.
        #expect(manifest.days.allSatisfy { (45...46).contains($0.lastIndex) })
        _ = try await storage.plan(manifest, index)
        var steps = 0
        while try await storage.backfillOnce(from: source, bytesMax: 150) {
            steps += 1
            // What is not durable may be asked for again.
            if steps % 3 == 0 { _ = try await storage.checkpoint() }
            if steps % 5 == 0 {
                let cursors = storage.missingHistory
                storage.close()
                storage = try here.open()
                #expect(storage.isHistoryComplete == (cursors == nil))
                #expect(storage.appliedIndex == 46)
            }
            #expect(steps < 200)
        }
        #expect(steps > 10)
        for _ in 0..<2 {
            #expect(storage.isHistoryComplete)
            #expect(try await storage.historyBytes() == source.historyBytes())
            storage.close()
            storage = try here.open()
        }
        storage.close()
    }

    @Test func `a chunk that does not begin where the day ended, or is of another snapshot, is refused`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write((1...9).map { message($0) })
        let storage = try here.open()
        defer { storage.close() }
        let index = try await storage.install(from: source)
        let day = message(1).time.day
        let first = try await source.historyChunk(day, bytesMax: 100)
        let second = try await source.historyChunk(day, after: first.next, bytesMax: 100)
        #expect(first.next != nil)
        await expectFailure(.refused) { _ = try await storage.backfill(first, index) }
        _ = try await storage.plan(try await source.historyManifest(), index)
        await expectFailure(.refused) { _ = try await storage.backfill(second, index) }
        await expectFailure(.refused) { _ = try await storage.backfill(first, index + 1) }
        await expectFailure(.refused) { _ = try await storage.plan(HistoryManifest(days: []), index + 1) }
        var damaged = first
        damaged.bytes.removeLast()
        await expectFailure(.malformed) { _ = try await storage.backfill(damaged, index) }
        damaged = first
        damaged.day += 1
        await expectFailure(.malformed) { _ = try await storage.backfill(damaged, index) }
        _ = try await storage.backfill(first, index)
        await expectFailure(.refused) { _ = try await storage.backfill(first, index) }
        _ = try await storage.backfill(second, index)
        #expect(!storage.isHistoryComplete)
        try await storage.backfillAll(from: source, bytesMax: 100)
    }

    @Test func `days that expire meanwhile and days that begin meanwhile do not keep it from ending`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write((1...40).map { message($0) })
        let storage = try here.open()
        defer { storage.close() }
        let index = try await storage.install(from: source)
        _ = try await storage.plan(try await source.historyManifest(), index)
        // Eight days later: the first two days have gone, at the source with their files.
        let later = noon.adding(seconds: 8 * secondsPerDay)
        there.clock.now = later
        here.clock.now = later
        try await source.removeExpiredFiles()
        for storage in [source, storage] { storage.write([row(41, at: later)]) }
        try await storage.backfillAll(from: source)
        #expect(try await storage.historyBytes() == source.historyBytes())
        #expect(
            try here.fileNames().filter { $0.hasPrefix("history") }
                == there.fileNames().filter {
                    $0.hasPrefix("history")
                })
    }

    @Test func `a recall that is applied before its message is filled in recalls it`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write((1...9).map { message($0) })
        let storage = try here.open()
        defer { storage.close() }
        let index = try await storage.install(from: source)
        let day = message(1).time.day
        let chunk = try await source.historyChunk(day, bytesMax: 10_000)
        let recalls = [Erasure(incarnation: life, seq: 3, day: day, index: 10)]
        // Of a message that nobody has.
        let strays = [Erasure(incarnation: life, seq: 99, day: day, index: 11, replacement: [4])]
        for storage in [source, storage] {
            storage.write([], recalls)
            storage.write([], strays)
        }
        _ = try await storage.plan(try await source.historyManifest(), index)
        // Read before the recall.
        _ = try await storage.backfill(chunk, index)
        #expect(storage.isHistoryComplete)
        #expect(try await storage.message(3)?.recalled == true)
        #expect(try await storage.historyBytes() == source.historyBytes())
    }

    @Test func `tombstones and rows of rooms that are gone come along, and big rows go alone`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        let gone = Incarnation(.max)
        source.write([message(1, bytes: 5_000), message(2), message(3, bytes: 5_000), row(4, of: gone)])
        source.write([], [Erasure(incarnation: gone, seq: 77, day: noon.day, index: 5)])
        source.write([], retired: [RetiredRoom(room: try room("a"), incarnation: gone)], applied: 6)
        let storage = try here.open()
        defer { storage.close() }
        _ = try await storage.install(from: source)
        try await storage.backfillAll(from: source, bytesMax: 200)
        #expect(try await storage.historyBytes() == source.historyBytes())
        #expect(try await storage.message(4, of: gone) == row(4, of: gone))
    }

    @Test func `a power cut never lets the note say more than the files hold`() async throws {
        let there = try TestShard()
        let source = try there.open()
        defer { source.close() }
        source.write((1...30).map { message($0) })
        let (here, disk) = (try TestShard(), FaultDisk())
        var storage = try here.open(disk: disk)
        _ = try await storage.install(from: source)
        var cuts = 0
        while !storage.isHistoryComplete {
            disk.cutPower(after: Int64(10 + 7 * cuts))
            do {
                var steps = 0
                while try await storage.backfillOnce(from: source, bytesMax: 300) {
                    steps += 1
                    if steps % 2 == 0 { _ = try await storage.checkpoint() }
                }
            } catch is StorageError {}
            disk.cutPower()
            storage.close()
            #expect(disk.powerOn(seed: UInt64(cuts)))
            cuts += 1
            storage = try here.open(disk: disk)
            #expect(cuts < 50)
        }
        #expect(cuts > 2)
        #expect(try await storage.historyBytes() == source.historyBytes())
        storage.close()
    }

    @Test func `a snapshot over one whose history is not complete begins the missing days anew`() {
        var missing = MissingHistory.after(install: 9, over: 4, before: nil)
        #expect(missing == MissingHistory(snapshotIndex: 9, knownIndex: 4))
        missing?.plan(
            HistoryManifest(days: [
                .init(day: 3, lastIndex: 5), .init(day: 1, lastIndex: 4), .init(day: 2, lastIndex: 8),
            ]))
        #expect(missing?.days?.map(\.day) == [2, 3])
        #expect(missing?.advance(2, from: nil, to: HistoryCursor(.messages, life, seq: 1)) == true)
        #expect(missing?.advance(2, from: nil, to: nil) == false)
        #expect(missing?.advance(3, from: nil, to: nil) == true)
        #expect(missing?.isComplete == false)
        #expect(missing.flatMap { try? MissingHistory(decoding: $0.encoded) } == missing)
        #expect(
            MissingHistory.after(install: 20, over: 12, before: missing)
                == MissingHistory(snapshotIndex: 20, knownIndex: 4))
        #expect(MissingHistory.after(install: 9, over: 9, before: nil) == nil)
    }
}
