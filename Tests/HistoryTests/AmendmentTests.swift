import ChatModel
import StorageTestKit
import Testing
import Wire

@testable import History

/// Rows that take the place of others, because their messages were amended.
@Suite struct AmendmentTests {
    private static let key = CommandKey(high: 1, low: 2)

    private func post(_ seq: UInt64, copies: [UInt8]? = nil) -> HistoryRow {
        var made = row(seq)
        made.command = Self.key
        made.copies = copies
        return made
    }

    private func amendment(_ seq: UInt64, index: UInt64, _ payload: [UInt8] = [9, 9]) -> HistoryRow {
        var made = row(seq, index: index)
        (made.payload, made.command, made.isAmendment) = (payload, nil, true)
        return made
    }

    private func expect(_ storage: ShardStorage, _ seq: UInt64, payload: [UInt8], copies: [UInt8]? = nil) async throws {
        let found = try #require(try await storage.message(seq, withCopies: true))
        #expect(found.payload == payload && found.copies == copies && !found.recalled)
        #expect(found.command == Self.key, "a repeat of the post is known by it")
    }

    @Test func `the row changes in place, keeps its command and its copies, and does not change back by replay`()
        async throws
    {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([post(1, copies: [7]), post(2)])
        storage.write([amendment(1, index: 10)])
        try await expect(storage, 1, payload: [9, 9], copies: [7])
        // The log is applied again, all of it or from somewhere on.
        storage.write([post(1, copies: [7])], applied: 10)
        try await expect(storage, 1, payload: [9, 9], copies: [7])
        storage.write([amendment(1, index: 12, [8])])
        storage.write([amendment(1, index: 10)], applied: 12)
        try await expect(storage, 1, payload: [8], copies: [7])
        #expect(try await storage.message(2)?.payload == row(2).payload)
    }

    @Test func `a message of a day that is past changes in that day's file`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([post(1)])
        shard.clock.now = noon.adding(seconds: 2 * 86_400)
        #expect(try await storage.checkpoint() == 1)
        storage.write([amendment(1, index: 9)])
        try await expect(storage, 1, payload: [9, 9])
        #expect(try await storage.checkpoint() == 9)
        #expect(try shard.fileNames().filter { $0.hasPrefix("history") }.count == 1)
    }

    @Test func `a recall wins, whichever of both is written first`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([post(1), post(2)])
        let erasure = { (seq: UInt64, index: UInt64) in
            Erasure(incarnation: life, seq: seq, day: noon.day, index: index)
        }
        storage.write([amendment(1, index: 10)])
        storage.write([], [erasure(1, 11), erasure(2, 12)])
        // By replay.
        storage.write([amendment(1, index: 10), amendment(2, index: 9)], applied: 12)
        for seq in [1, 2] as [UInt64] {
            let found = try #require(try await storage.message(seq))
            #expect(found.recalled && found.payload == [0] && found.command == Self.key)
        }
    }

    @Test func `an amendment that comes before its message is not undone by it, and learns its command and copies`()
        async throws
    {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write([post(1, copies: [7]), post(2), post(3)])
        let storage = try here.open()
        defer { storage.close() }
        let index = try await storage.install(from: source)
        let chunk = try await source.historyChunk(noon.day, bytesMax: 10_000)
        for storage in [source, storage] { storage.write([amendment(1, index: 10)]) }
        _ = try await storage.plan(try await source.historyManifest(), index)
        // Read before it was amended.
        _ = try await storage.backfill(chunk, index)
        #expect(storage.isHistoryComplete)
        try await expect(storage, 1, payload: [9, 9], copies: [7])
        #expect(try await storage.historyBytes() == source.historyBytes())
    }

    @Test func `a backup has messages that were amended since`() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.isAmended = { $0 == [9, 9] } }
        defer { storage.close() }
        storage.write([post(1), post(2), post(3)])
        storage.write([amendment(1, index: 4), post(4).at(index: 5)])
        let chunk = try await storage.answer {
            storage.historyChunk(
                day: noon.day, after: nil, changedAfter: 0, notAfter: 3, atLeast: 0, bytesMax: 10_000, completion: $0)
        }
        var reader = DelimitedReader<HistoryRecord>()
        let rows = try reader.append(chunk.bytes).compactMap(\.row)
        #expect(rows.map(\.seq) == [1, 2, 3] && rows.map(\.index) == [3, 2, 3])
        #expect(rows.first?.payload == [9, 9])
    }
}

extension HistoryRow {
    fileprivate func at(index: UInt64) -> HistoryRow {
        var row = self
        row.index = index
        return row
    }
}
