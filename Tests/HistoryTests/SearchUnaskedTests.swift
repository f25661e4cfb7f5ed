import ChatModel
import SQLite
import StorageTestKit
import Testing

@testable import History

/// Files that have no index, because nobody has looked for much in them.
@Suite struct SearchUnaskedTests {
    private func said(_ seqs: ClosedRange<UInt64>, day: Int64 = 0, of life: Incarnation = life) -> [HistoryRow] {
        seqs.map { seq in
            var row = row(seq)
            (row.incarnation, row.payload) = (life, Array("word \(seq)".utf8))
            row.time = noon.adding(milliseconds: day * Timestamp.millisecondsPerDay + Int64(seq))
            return row
        }
    }

    private func open(_ shard: TestShard) throws -> ShardStorage {
        try shard.open { configuration in
            var search = SearchConfiguration { String(decoding: $0, as: UTF8.self) }
            search.linger = .milliseconds(1)
            search.unindexedMax = 10
            configuration.search = search
        }
    }

    private func seqs(_ storage: ShardStorage, _ text: String, of life: Incarnation = life) async throws -> [UInt64] {
        var query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern(text)))
        query.limit = 100
        let page = try await storage.found(query)
        #expect(page.next == nil)
        return page.rows.map(\.seq)
    }

    @Test("a file gets its index with the first search that has much to look at, and is found in before and after")
    func begins() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        let other = Incarnation(2)
        storage.write(said(1...10))
        storage.write(said(1...30, of: other))
        #expect(try await seqs(storage, "word").count == 10)
        try await storage.indexed()
        #expect(try shard.searchFiles() == [], "ten messages are looked at one by one")
        #expect(storage.searchFigures == SearchFigures())

        storage.write(said(11...11))
        #expect(try await seqs(storage, "word 11") == [11])
        storage.write(said(12...12))
        #expect(try await seqs(storage, "word 12") == [12])
        try await storage.indexed()
        #expect(try shard.searchFiles() == ["search-history-2026-06-15.sqlite"])
        #expect(storage.searchFigures == SearchFigures())
        #expect(try shard.searchHas("word 30"), "the index is that of the whole file")
        #expect(try await seqs(storage, "word") == (1...12).reversed())
        #expect(try await seqs(storage, "word", of: other) == (1...30).reversed())

        storage.write(said(13...13))
        try await storage.indexed()
        #expect(try shard.searchHas("word 13"))
        storage.close()
    }

    @Test("an index goes on after a restart, and only files that were searched have one")
    func restarts() async throws {
        let shard = try TestShard(now: noon.adding(milliseconds: Timestamp.millisecondsPerDay))
        var storage = try open(shard)
        storage.write(said(1...20))
        storage.write(said(21...25, day: 1))
        // The newest file first, which has little of it; then the one before.
        #expect(try await seqs(storage, "word").count == 25)
        try await storage.indexed()
        #expect(try shard.searchFiles() == ["search-history-2026-06-15.sqlite"])
        storage.close()

        storage = try open(shard)
        storage.write([], [Erasure(incarnation: life, seq: 13, day: noon.day, index: 30)])
        try await storage.indexed()
        #expect(storage.searchFigures == SearchFigures())
        #expect(try !shard.searchHas("word 13"), "a recalled word leaves the index")
        #expect(try await seqs(storage, "word").count == 24)
        #expect(try shard.searchFiles() == ["search-history-2026-06-15.sqlite"])
        storage.close()
    }

    @Test("a file that was asked for while rows of another replica come gets its index afterwards, others do not")
    func blocked() throws {
        let state = SearchState(SearchConfiguration { _ in "" })
        let (asked, other, had) = (HistoryFile(day: 1), HistoryFile(day: 2), HistoryFile(day: 3))
        state.begin([asked, other, had], indexed: [had], isBlocked: true)
        #expect(!state.ask(for: asked), "nothing is made now")
        #expect(state.figures.incompleteFiles == 2)
        #expect(state.unblock())
        #expect(!state.ask(for: asked))
        func phase(_ file: HistoryFile) -> SearchState.Phase? { state.shared.withLock { $0.files[file]?.phase } }
        #expect(phase(asked) == .unknown)
        #expect(phase(had) == .unknown)
        #expect(phase(other) == .unasked)
        #expect(state.ask(for: other))
        #expect(phase(other) == .unknown)
    }
}
