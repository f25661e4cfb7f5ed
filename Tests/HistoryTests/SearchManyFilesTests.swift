import ChatModel
import StorageTestKit
import Testing

@testable import History

/// Rooms whose history is long: a shard with many files, most of them with little of a room or nothing.
@Suite struct SearchManyFilesTests {
    private static let files = 60
    /// A room that seldom says something.
    private let silent = Incarnation(2)

    private func said(_ day: Int, _ seq: UInt64, _ text: String, of life: Incarnation = life) -> HistoryRow {
        var row = row(seq)
        (row.incarnation, row.payload) = (life, Array(text.utf8))
        row.time = noon.adding(milliseconds: Int64(day) * Timestamp.millisecondsPerDay + Int64(seq % 1_000))
        return row
    }

    /// Each day has messages of a busy room, every twentieth of the silent one too.
    private func fill(_ storage: ShardStorage) async throws {
        for day in 0..<Self.files {
            let first = UInt64(day) * 3
            var rows = (1...3).map { said(day, first + $0, "word \($0)") }
            if day % 20 == 7 { rows.append(said(day, UInt64(day) + 1, "word", of: silent)) }
            storage.write(rows)
        }
        try await storage.indexed()
    }

    private func open(_ shard: TestShard) throws -> ShardStorage {
        try shard.open { configuration in
            configuration.retentionDays = Int64(2 * Self.files)
            var search = SearchConfiguration { String(decoding: $0, as: UTF8.self) }
            search.linger = .milliseconds(1)
            search.isAhead = true
            // Each file that is looked into is a page.
            search.sliceMax = .zero
            configuration.search = search
        }
    }

    private func shard() throws -> TestShard {
        try TestShard(now: noon.adding(milliseconds: Int64(Self.files) * Timestamp.millisecondsPerDay))
    }

    private func pages(
        _ storage: ShardStorage, _ text: String, of life: Incarnation, after: SearchCursor? = nil
    ) async throws -> [SearchPage] {
        var query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern(text)))
        (query.limit, query.after) = (100, after)
        var pages: [SearchPage] = []
        for _ in 0..<1_000 {
            pages.append(try await storage.found(query))
            guard let next = pages.last?.next else { return pages }
            query.after = next
        }
        Issue.record("a search has no end")
        return pages
    }

    @Test("files in which a room has said nothing are not looked into, also after a restart")
    func skips() async throws {
        let shard = try shard()
        var storage = try open(shard)
        try await fill(storage)
        for _ in 0..<2 {
            let found = try await pages(storage, "word", of: silent)
            #expect(found.flatMap(\.rows).map(\.seq) == [48, 28, 8])
            #expect(found.count <= 4, "\(found.count) pages")
            #expect(try await pages(storage, "word", of: Incarnation(3)).count == 1)
            let vain = try await pages(storage, "none", of: life)
            #expect(vain.count >= Self.files - 1, "each file has something of this one")
            storage.close()
            storage = try open(shard)
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("a room that begins to speak in a file whose index was complete is found there")
    func laterRooms() async throws {
        let shard = try shard()
        let storage = try open(shard)
        try await fill(storage)
        for (number, day) in [3, 30, Self.files].enumerated() {
            let other = Incarnation(10 + UInt64(number))
            storage.write([said(day, 500, "word", of: other)])
            for _ in 0..<2 {
                #expect(try await pages(storage, "word", of: other).flatMap(\.rows).map(\.seq) == [500])
                try await storage.indexed()
            }
        }
        storage.close()
    }

    @Test("a page goes on in the file in which the one before ended, and does not look into newer ones again")
    func goesOn() async throws {
        let shard = try shard()
        let storage = try open(shard)
        try await fill(storage)
        let all = try await pages(storage, "none", of: life)
        let files = all.compactMap { $0.next?.file }
        #expect(files.count == all.count - 1 && files == Array(Set(files)).sorted(by: >), "\(files)")
        let old = HistoryFile(day: noon.day + 9)
        let rest = try await pages(storage, "word", of: life, after: SearchCursor(beforeSeq: .max, file: old))
        #expect(rest.flatMap(\.rows).map(\.seq) == (1...30).reversed())
        // As older programs gave it.
        let plain = try await pages(storage, "word", of: life, after: SearchCursor(beforeSeq: 31))
        #expect(plain.flatMap(\.rows).map(\.seq) == (1...30).reversed())
        storage.close()
    }

    @Test("the place to go on from is a text, and no other text is one")
    func cursors() throws {
        let cursors = [
            SearchCursor(beforeSeq: 0), SearchCursor(beforeSeq: .max, file: HistoryFile(day: 20_000)),
            SearchCursor(beforeSeq: 7, file: HistoryFile(day: 20_000, life: .decade)),
        ]
        for cursor in cursors { #expect(SearchCursor(cursor.text) == cursor) }
        let texts = [
            "", ".", "1.", ".1", "01", "1.01", "-1", "+1", "1.+1", "1.2.3", "a", "1.a", " 1", "18446744073709551616",
            "1.9223372036854775807", "1.-9223372036854775808", "1.99999999999999999999",
        ]
        for text in texts { #expect(SearchCursor(text) == nil, "\(text)") }
    }

    @Test("a filter denies no room that it was given, and few others", arguments: [1, 10, 200, 1_500])
    func filter(_ count: Int) {
        var filter = RoomFilter(for: count)
        for number in 1...count { filter.insert(Incarnation(UInt64(number))) }
        #expect((1...count).allSatisfy { filter.mayHave(Incarnation(UInt64($0))) })
        let wrong = (1...10_000).count { filter.mayHave(Incarnation(1_000_000 + UInt64($0))) }
        #expect(wrong < 300, "\(wrong) of 10,000")
    }

    @Test("files are in their order, each once", arguments: 1...UInt64(20))
    func order(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (files, expected) = (HistoryFiles(), Set<HistoryFile>())
        for _ in 0..<200 {
            let file = HistoryFile(
                day: .random(in: 1...20, using: &random), life: Bool.random(using: &random) ? .standard : .month)
            if Int.random(in: 0..<3, using: &random) == 0 {
                files.remove(file)
                expected.remove(file)
            } else {
                files.insert(file)
                expected.insert(file)
            }
            #expect(files.all == expected.sorted() && HistoryFiles(expected).all == files.all)
            #expect(files.last(before: file) == expected.filter { $0 < file }.max())
            #expect(files.last(before: nil) == expected.max())
        }
    }
}
