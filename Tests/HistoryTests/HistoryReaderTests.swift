import ChatModel
import Dispatch
import Synchronization
import Testing
import WaitTestKit

@testable import History

/// Holds the reader thread up at the first message that it reads, and counts how many it reads.
private final class Gate: Sendable {
    private let isOpen = DispatchSemaphore(value: 0)
    private let wasReached = DispatchSemaphore(value: 0)
    private let count = Atomic<Int>(0)

    var read: Int { count.load(ordering: .relaxed) }

    var shownBytes: @Sendable ([UInt8]) -> Int {
        { [self] payload in
            if count.add(1, ordering: .relaxed).newValue == 1 {
                wasReached.signal()
                isOpen.wait()
            }
            return payload.count
        }
    }

    func reached() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                wasReached.wait()
                continuation.resume()
            }
        }
    }

    func open() { isOpen.signal() }
}

/// Which reads have ended, in their order, and how.
private final class Ended: Sendable {
    private let reads = Mutex<[(name: String, code: StorageError.Code?)]>([])

    var all: [(name: String, code: StorageError.Code?)] { reads.withLock { $0 } }

    func note(_ name: String, _ code: StorageError.Code?) { reads.withLock { $0.append((name, code)) } }
}

@Suite struct HistoryReaderTests {

    private func page(_ storage: ShardStorage, _ name: String, for reader: HistoryReader?, _ ended: Ended) {
        storage.page(HistoryQuery(incarnation: life, limit: 5), for: reader) { result in
            var code: StorageError.Code?
            if case .failure(let error) = result { code = error.code }
            ended.note(name, code)
        }
    }

    @Test func `what waits of a session that has gone is not read, and what is under way ends between two rows`()
        async throws
    {
        let gate = Gate()
        let shard = try TestShard()
        let storage = try shard.open { $0.shownBytes = gate.shownBytes }
        defer { storage.close() }
        storage.write((1...30).map { row($0) })
        let ended = Ended()
        let (gone, other) = (HistoryReader(), HistoryReader())
        for _ in 0..<10 { page(storage, "gone", for: gone, ended) }
        await gate.reached()
        page(storage, "other", for: other, ended)
        gone.leave()
        gate.open()
        try await poll("all reads have ended") { ended.all.count == 11 }
        let all = ended.all
        #expect(all.filter { $0.name == "gone" }.map(\.code) == Array(repeating: .cancelled, count: 10))
        #expect(all.filter { $0.name == "other" }.map(\.code) == [nil])
        // One row of the read that was under way, and the page of who is still there.
        #expect(gate.read == 1 + 5)
        #expect(gone.readCount == 0 && other.readCount == 0)
        page(storage, "late", for: gone, ended)
        try await poll("the late read has ended") { ended.all.last?.name == "late" }
        #expect(ended.all.last?.code == .cancelled)
        #expect(gate.read == 6)
    }

    @Test func `a session that has asked for much goes behind one that asks for little`() async throws {
        let gate = Gate()
        let shard = try TestShard()
        let storage = try shard.open { $0.shownBytes = gate.shownBytes }
        defer { storage.close() }
        storage.write((1...30).map { row($0) })
        let ended = Ended()
        let (greedy, modest) = (HistoryReader(), HistoryReader())
        for _ in 0..<20 { page(storage, "greedy", for: greedy, ended) }
        await gate.reached()
        page(storage, "too many", for: greedy, ended)
        page(storage, "modest", for: modest, ended)
        // Behind them on the thread that brings reads to their lines: with its answer all of them are there.
        _ = try await storage.rooms()
        gate.open()
        try await poll("all reads have ended") { ended.all.count == 22 }
        let all = ended.all
        #expect(all[0].name == "too many" && all[0].code == .tooOften)
        #expect((all.firstIndex { $0.name == "modest" } ?? .max) <= 3)
    }

    @Test func `a page ends before it is longer than a reply may be, and has one message at least`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        let part = Limits.pageBytes / 4
        storage.write((1...9).map { row($0, bytes: part) } + [row(10, bytes: 2 * Limits.pageBytes), row(11)])
        for types in [nil, [0]] as [Set<Int>?] {
            var query = HistoryQuery(incarnation: life, order: .ascending, limit: 100)
            query.types = types
            var pages: [[UInt64]] = []
            var more = true
            while more {
                let page = try await storage.page(query)
                pages.append(page.rows.map(\.seq))
                more = page.more
                query.afterSeq = page.rows.last?.seq
            }
            #expect(pages == [[1, 2, 3, 4], [5, 6, 7, 8], [9], [10], [11]])
        }
        var heads = HistoryQuery(incarnation: life, limit: 100)
        heads.withoutPayload = true
        let page = try await storage.page(heads)
        #expect(page.rows.count == 11 && !page.more)
        #expect(page.rows.allSatisfy { $0.payload.isEmpty && $0.sender == "ann" })
    }
}
