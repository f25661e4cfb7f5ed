import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

@Suite struct CopiesTests {
    private func combine(_ seq: UInt64, at time: Timestamp = noon, copies: [UInt8] = [1, 2, 3]) -> HistoryRow {
        var made = row(seq, at: time)
        made.copies = copies
        return made
    }

    private func erasure(_ seq: UInt64, index: UInt64) -> Erasure {
        Erasure(incarnation: life, seq: seq, day: noon.day, index: index)
    }

    private func copies(_ storage: ShardStorage, _ seq: UInt64) async throws -> [UInt8]? {
        try await storage.message(seq, withCopies: true)?.copies
    }

    @Test func `only who asks for what a message holds besides is given it`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([row(1), combine(2), row(3)])
        #expect(try await copies(storage, 1) == nil)
        #expect(try await copies(storage, 2) == [1, 2, 3])
        #expect(try await storage.message(2)?.copies == nil)
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.allSatisfy { $0.copies == nil })
    }

    @Test func `it goes with the recall, also of one that comes first, and does not come again`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([combine(1), combine(2)])
        storage.write([], [erasure(1, index: 10)])
        #expect(try await copies(storage, 1) == nil)
        #expect(try await copies(storage, 2) == [1, 2, 3])
        // The log is applied again.
        storage.write([combine(1)])
        storage.write([], [erasure(3, index: 11)])
        storage.write([combine(3)])
        for seq in [1, 3] as [UInt64] {
            #expect(try await copies(storage, seq) == nil)
            #expect(try await storage.message(seq)?.recalled == true)
        }
        // No row is left of them that could be read later.
        let reader = try Database(path: shard.directory.path + "/shard/" + UTCDay.fileName(noon.day), options: .init())
        defer { reader.close() }
        let rows = try reader.prepare("SELECT seq FROM copies")
        #expect(try rows.step() && rows.int64(0) == 2)
        #expect(try !rows.step())
    }

    @Test func `another replica and a backup get it`() async throws {
        let (there, here, kept) = (try TestShard(), try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write([combine(1), combine(2), row(3)])
        source.write([try roomRow("a", index: 4)], applied: 4)
        source.write([], [erasure(2, index: 5)], applied: 5)
        let storage = try here.open()
        defer { storage.close() }
        _ = try await storage.install(from: source)
        try await storage.backfillAll(from: source)
        _ = try await source.answer { source.backup(to: kept.directory.path + "/shard", completion: $0) }
        let copy = try kept.open()
        defer { copy.close() }
        for replica in [storage, copy] {
            #expect(try await copies(replica, 1) == [1, 2, 3])
            #expect(try await copies(replica, 2) == nil)
            #expect(try await copies(replica, 3) == nil)
            #expect(try await replica.historyBytes() == source.historyBytes())
        }
    }

    @Test func `what was written by the program of before is refused with a sentence`() async throws {
        let shard = try TestShard()
        try shard.open().close()
        var options = DatabaseOptions()
        options.create = true
        let catalogue = try Database(path: shard.directory.path + "/shard/catalogue.sqlite", options: options)
        try catalogue.execute("PRAGMA user_version = 1")
        catalogue.close()
        await expectFailure(.unsupported) { try shard.open().close() }
    }
}
