import ChatModel
import StorageTestKit
import Testing

@testable import History

@Suite struct BackupTests {
    private func backup(_ storage: ShardStorage, to directory: String) async throws -> UInt64 {
        try await storage.answer { storage.backup(to: directory, completion: $0) }
    }

    @Test func `a backup holds the shard as of one entry, and can be opened as a shard`() async throws {
        let (here, target) = (try TestShard(), try TestShard())
        let storage = try here.open()
        defer { storage.close() }
        storage.write((1...20).map { row($0, at: noon.adding(seconds: Int64($0) * 20_000 - 400_000), bytes: 50) })
        storage.write([], [Erasure(incarnation: life, seq: 7, day: noon.adding(seconds: -260_000).day, index: 21)])
        storage.write([try roomRow("a", index: 22), try memberRow("a", "ann", index: 23)], applied: 23)
        let catalogue = try await storage.snapshotBytes().bytes
        let history = try await storage.historyBytes()
        #expect(try await backup(storage, to: target.directory.path + "/shard") == 23)
        let copy = try target.open()
        defer { copy.close() }
        #expect(copy.appliedIndex == 23)
        #expect(copy.isHistoryComplete)
        #expect(try await copy.snapshotBytes().bytes == catalogue)
        #expect(try await copy.historyBytes() == history)
        // The storage goes on.
        storage.write([row(21, index: 24)])
        #expect(try await storage.checkpoint() == 24)
        // Not over another one.
        await expectFailure(.refused) { _ = try await backup(storage, to: target.directory.path + "/shard") }
    }

    @Test func `rows that are younger than the entry are left out, and a later recall counts`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write((1...6).map { row($0) })
        storage.write([], [Erasure(incarnation: life, seq: 2, day: noon.day, index: 7)])
        func seqs(notAfter index: UInt64?) async throws -> [[UInt64]] {
            let chunk = try await storage.answer {
                storage.historyChunk(
                    day: noon.day, after: nil, changedAfter: 0, notAfter: index, atLeast: 0, bytesMax: 10_000,
                    completion: $0)
            }
            var reader = DelimitedReader<HistoryRecord>()
            return try reader.append(chunk.bytes).compactMap(\.row).map { [$0.seq, $0.index, $0.recalled ? 1 : 0] }
        }
        #expect(try await seqs(notAfter: 4) == [[1, 1, 0], [2, 4, 1], [3, 3, 0], [4, 4, 0]])
        #expect(try await seqs(notAfter: nil).count == 6)
        #expect(try await seqs(notAfter: nil)[1] == [2, 7, 1])
    }

    @Test func `writing goes on while a backup is made`() async throws {
        let (here, target) = (try TestShard(), try TestShard())
        let storage = try here.open()
        defer { storage.close() }
        storage.write((1...300).map { row($0, bytes: 500) })
        storage.write([try roomRow("a", index: 301)], applied: 301)
        async let index = backup(storage, to: target.directory.path + "/shard")
        for number in 302...400 as ClosedRange<UInt64> {
            var batch = StorageBatch(appliedIndex: number)
            batch.history = [row(number)]
            batch.catalogue = [try memberRow("a", "user\(number)", index: number)]
            storage.write(batch)
            await Task.yield()
        }
        let made = try await index
        #expect((301...400).contains(made))
        let copy = try target.open()
        defer { copy.close() }
        #expect(copy.appliedIndex == made)
        #expect(try await copy.loadRoom(try room("a")).catalogue.count == 1 + Int(made - 301))
        var query = HistoryQuery(incarnation: life, limit: 1)
        query.order = .descending
        #expect(try await copy.page(query).rows.first?.seq == (made == 301 ? 300 : made))
    }
}
