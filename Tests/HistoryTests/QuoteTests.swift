import ChatModel
import StorageTestKit
import Testing

@testable import History

/// Rows that quote another are read without the quote once that one is recalled.
@Suite struct QuoteTests {
    /// The rows of these tests: a mark, and the seq of what is quoted.
    private func open(_ shard: TestShard) throws -> ShardStorage {
        try shard.open {
            $0.quotedSeq = { $0.count == 2 ? UInt64($0[1]) : nil }
            $0.withoutQuote = { [$0[0]] }
        }
    }

    private func reply(_ seq: UInt64, to quoted: UInt8, at time: Timestamp = noon) -> HistoryRow {
        var made = row(seq, at: time)
        made.payload = [7, quoted]
        return made
    }

    private func erasure(_ seq: UInt64, at time: Timestamp = noon, index: UInt64) -> Erasure {
        Erasure(incarnation: life, seq: seq, day: time.day, index: index)
    }

    private func payloads(_ storage: ShardStorage, after seq: UInt64 = 0) async throws -> [[UInt8]] {
        var query = HistoryQuery(incarnation: life, order: .ascending, limit: 100)
        query.afterSeq = seq
        return try await storage.page(query).rows.map(\.payload)
    }

    @Test func `a page, a message and a loaded room are read without quotes of what was recalled`() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        defer { storage.close() }
        storage.write([row(1), row(2), reply(3, to: 1), reply(4, to: 2), reply(5, to: 1)])
        storage.write([try roomRow("a", index: 6)], applied: 6)
        #expect(try await payloads(storage, after: 2) == [[7, 1], [7, 2], [7, 1]])
        storage.write([], [erasure(1, index: 7)])
        // The recalled one is on the page, or is looked for.
        #expect(try await payloads(storage).suffix(3) == [[7], [7, 2], [7]])
        #expect(try await payloads(storage, after: 2) == [[7], [7, 2], [7]])
        #expect(try await storage.message(3)?.payload == [7])
        #expect(try await storage.message(4)?.payload == [7, 2])
        #expect(try await storage.loadRoom(room("a")).tail.suffix(3).map(\.payload) == [[7], [7, 2], [7]])
    }

    @Test func `what is quoted from another day is found there, and what has expired is not quoted`() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        defer { storage.close() }
        let day = Timestamp.millisecondsPerDay
        let (first, second) = (noon.adding(milliseconds: -9 * day), noon.adding(milliseconds: -8 * day))
        storage.write([row(1, at: first), row(2, at: second), row(3, at: second)])
        storage.write([reply(4, to: 1), reply(5, to: 2), reply(6, to: 3), reply(7, to: 99)])
        #expect(try await payloads(storage, after: 3) == [[7, 1], [7, 2], [7, 3], [7]])
        storage.write([], [erasure(2, at: second, index: 10)])
        #expect(try await payloads(storage, after: 3) == [[7, 1], [7], [7, 3], [7]])
        shard.clock.now = noon.adding(milliseconds: day + 1)
        #expect(try await payloads(storage, after: 3) == [[7], [7], [7, 3], [7]])
    }

    @Test func `a page of replies to as many messages is read in slices`() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        defer { storage.close() }
        storage.write((1...100).map { row($0) } + (1...100).map { reply(100 + $0, to: UInt8($0)) })
        storage.write([], (1...50).map { erasure($0 * 2, index: 500 + $0) })
        let expected = (1...100).map { $0 % 2 == 0 ? [7] : [7, UInt8($0)] }
        #expect(try await payloads(storage, after: 100) == expected)
    }

    @Test func `a reply's own recall stays a recall`() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        defer { storage.close() }
        storage.write([row(1), reply(2, to: 1)])
        storage.write([], [erasure(2, index: 3)])
        #expect(try await payloads(storage).last == [0])
    }
}
