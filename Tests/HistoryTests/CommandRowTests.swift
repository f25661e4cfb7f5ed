import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

/// What a replica remembers of commands while it lacks the history that they made.
@Suite struct CommandRowTests {
    /// Where the rows of the shard's days meet, in seconds after `noon`.
    private let midnight: Int64 = 43_200

    /// One log entry: a message and, as with every message, the room's own row.
    private func post(
        _ seq: UInt64, in name: String = "a", incarnation: UInt64 = 1, at seconds: Int64, index: UInt64? = nil,
        to storages: ShardStorage...
    ) throws {
        let (entry, time) = (index ?? seq, noon.adding(seconds: seconds))
        var batch = StorageBatch(appliedIndex: entry)
        batch.history = [row(seq, at: time, index: entry, of: Incarnation(incarnation))]
        batch.catalogue = [try roomRow(name, index: entry, incarnation: incarnation)]
        for storage in storages { storage.write(batch) }
    }

    private func commands(_ storage: ShardStorage, of name: String = "a") async throws -> [RememberedCommand] {
        try await storage.loadRoom(try room(name)).commands
    }

    /// Of a storage that is closed.
    private func rowCount(_ shard: TestShard, _ name: String = "catalogue-1.sqlite") throws -> Int64 {
        let database = try Database(path: shard.directory.path + "/shard/" + name, options: DatabaseOptions())
        defer { database.close() }
        let count = try database.prepare("SELECT count(*) FROM catalogue WHERE kind = \(CommandRows.kind)")
        return try count.step() ? count.int64(0) : 0
    }

    @Test func `a replica that lacks history remembers the commands that its source remembers`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        for seq in 1...120 as ClosedRange<UInt64> {
            try post(seq, at: midnight - 900 + 10 * Int64(seq), to: source)
        }
        let remembered = try await commands(source)
        #expect(remembered.map(\.seq) == (0...60).map { 120 - $0 })
        var storage = try here.open()
        defer { storage.close() }
        #expect(try await storage.install(from: source) == 120)
        for _ in 0..<2 {
            #expect(try await commands(storage) == remembered)
            #expect(try await storage.loadRoom(try room("a")).catalogue == [try roomRow("a", index: 120)])
            storage.close()
            #expect(try rowCount(here) == 1)
            storage = try here.open()
        }
        for seq in 121...150 as ClosedRange<UInt64> {
            try post(seq, at: midnight - 900 + 10 * Int64(seq), to: source, storage)
        }
        let later = try await commands(source)
        #expect(later.map(\.seq) == (0...60).map { 150 - $0 })
        #expect(try await commands(storage) == later)
        var steps = 0
        while try await storage.backfillOnce(from: source, bytesMax: 500) {
            steps += 1
            #expect(try await commands(storage) == later)
        }
        #expect(steps > 5)
        #expect(storage.isHistoryComplete)
        #expect(try await commands(storage) == later)
        storage.close()
        #expect(try rowCount(here) == 0)
    }

    @Test func `a replica does without commands that are forgotten at the shard's newest message`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        let storage = try here.open()
        defer { storage.close() }
        var index: UInt64 = 0
        // One idle for hours, one for a quarter of an hour, one not at all.
        let rooms: [(name: String, times: [Int64])] = [
            ("a", [-18_000, -17_900, -17_800]), ("c", [-1_400, -1_000, -900]), ("b", [-700, -600, 0]),
        ]
        for (number, room) in rooms.enumerated() {
            for (place, seconds) in room.times.enumerated() {
                index += 1
                try post(
                    UInt64(place) + 1, in: room.name, incarnation: UInt64(number) + 1, at: seconds, index: index,
                    to: source)
            }
        }
        // Which time it is now does not count.
        there.clock.now = noon.adding(seconds: 18_000)
        _ = try await storage.install(from: source)
        for room in rooms {
            let remembered = Set(try await commands(storage, of: room.name))
            let lacking = Set(try await commands(source, of: room.name)).subtracting(remembered)
            #expect(lacking.allSatisfy { $0.time.adding(seconds: Limits.commandMemorySeconds) <= noon })
        }
        #expect(try await commands(storage, of: "a").isEmpty)
        #expect(try await commands(storage, of: "c").map(\.seq) == [3, 2])
        #expect(try await commands(storage, of: "b").map(\.seq) == [3, 2])
    }

    @Test func `recalled messages count, and what is written while a snapshot is read leaves nothing out`()
        async throws
    {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        let storage = try here.open()
        defer { storage.close() }
        for seq in 1...5 as ClosedRange<UInt64> { try post(seq, at: 100 * Int64(seq) - 600, to: source) }
        source.write([], [Erasure(incarnation: life, seq: 2, day: noon.day, index: 6)])
        let remembered = try await commands(source)
        #expect(remembered.map(\.seq) == [5, 4, 3, 2, 1])
        let reader = try await source.openSnapshot()
        #expect(reader.index == 6)
        source.write([], [Erasure(incarnation: life, seq: 3, day: noon.day, index: 7)])
        try post(6, at: 540, index: 8, to: source)
        try post(7, at: 1_140, index: 9, to: source)
        _ = try await source.checkpoint()
        try await storage.beginInstall(index: reader.index)
        while true {
            let bytes = try await reader.next(7)
            if bytes.isEmpty { break }
            try await storage.installSnapshot(bytes)
        }
        reader.close()
        try await storage.finishInstall()
        // The host leaves out what is newer than the room's own row.
        #expect(try await commands(storage).filter { $0.seq <= 5 } == remembered)
    }

    @Test func `a replica that lacks history itself passes on what it remembers`() async throws {
        let shards = try (0..<4).map { _ in try TestShard() }
        let storages = try shards.map { try $0.open() }
        defer { for storage in storages { storage.close() } }
        let (source, middle) = (storages[0], storages[1])
        for seq in 1...120 as ClosedRange<UInt64> {
            try post(seq, at: midnight - 900 + 10 * Int64(seq), to: source)
        }
        _ = try await middle.install(from: source)
        _ = try await storages[2].install(from: middle)
        #expect(try await commands(storages[2]) == commands(source))
        // With some rows of its own, and some that it was given.
        for seq in 121...130 as ClosedRange<UInt64> {
            try post(seq, at: midnight - 900 + 10 * Int64(seq), to: source, middle)
        }
        for _ in 0..<3 { _ = try await middle.backfillOnce(from: source, bytesMax: 500) }
        #expect(!middle.isHistoryComplete)
        _ = try await storages[3].install(from: middle)
        let remembered = try await commands(source)
        #expect(remembered.count == 61)
        #expect(try await commands(storages[3]) == remembered)
    }

    @Test func `a room that is deleted and made anew remembers nothing of its former life`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        let storage = try here.open()
        for seq in 1...5 as ClosedRange<UInt64> { try post(seq, at: Int64(seq), to: source) }
        _ = try await storage.install(from: source)
        #expect(try await commands(storage).count == 5)
        let former = RetiredRoom(room: try room("a"), incarnation: life)
        storage.write([try roomRow("a", index: 6, incarnation: 2)], retired: [former], applied: 6)
        #expect(try await commands(storage).isEmpty)
        _ = try await storage.checkpoint()
        #expect(try await commands(storage).isEmpty)
        storage.close()
        #expect(try rowCount(here) == 0)
    }

    @Test func `any number of commands comes along, in rows of bounded length`() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        let storage = try here.open()
        let count: UInt64 = 5_000
        source.write((1...count).map { row($0, at: noon.adding(milliseconds: Int64($0)), bytes: 1) })
        let rooms = [try roomRow("a", index: count + 1), try roomRow("b", index: 1, incarnation: 2)]
        source.write(rooms, applied: count + 1)
        _ = try await storage.install(from: source)
        let found = try await commands(storage)
        #expect(found.count == Int(count))
        #expect(try await commands(source) == found)
        #expect(try await commands(storage, of: "b").isEmpty)
        storage.close()
        #expect(try rowCount(here) == 10)
    }

    @Test func `rows that a version without them has taken along go at a start`() async throws {
        let shard = try TestShard()
        let command = RememberedCommand(key: CommandKey(high: 1, low: 2), seq: 3, time: noon)
        let own = try roomRow("a", index: 1)
        var storage = try shard.open()
        storage.write([own, CommandRows.row([command], number: 0, of: own)], applied: 1)
        _ = try await storage.checkpoint()
        storage.close()
        #expect(try rowCount(shard, "catalogue.sqlite") == 1)
        storage = try shard.open()
        storage.write([try memberRow("a", "ann", index: 2)], applied: 2)
        _ = try await storage.checkpoint()
        storage.close()
        #expect(try rowCount(shard, "catalogue.sqlite") == 0)
    }

    @Test func `damaged rows are refused`() throws {
        let own = try roomRow("a", index: 1)
        let command = RememberedCommand(key: CommandKey(high: .max, low: 0), seq: .max, time: Timestamp(-1))
        var damaged = CommandRows.row([command], number: 0, of: own)
        #expect(try CommandRows.commands(in: [own, damaged], of: life) == [command])
        #expect(try CommandRows.commands(in: [own, damaged], of: Incarnation(2)).isEmpty)
        damaged.value?.removeLast()
        #expect(throws: StorageError.self) { try CommandRows.commands(in: [damaged], of: life) }
    }
}
