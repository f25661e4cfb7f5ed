import ChatModel
import Foundation
import History
import StorageTestKit
import Testing

@Suite struct SearchTests {
    private func text(_ seq: UInt64, _ text: String, of life: Incarnation = life, at time: Timestamp? = nil)
        -> HistoryRow
    {
        var row = row(seq)
        (row.incarnation, row.payload, row.time) = (
            life, Array(text.utf8), time ?? noon.adding(milliseconds: Int64(seq))
        )
        return row
    }

    private func erasure(_ seq: UInt64, index: UInt64) -> Erasure {
        Erasure(incarnation: life, seq: seq, day: noon.day, index: index)
    }

    private let last = HistoryFile(day: 100_000)

    private func open(
        _ shard: TestShard, disk: FaultDisk? = nil, _ change: (inout SearchConfiguration) -> Void = { _ in }
    )
        throws -> ShardStorage
    {
        try shard.open(disk: disk) { configuration in
            var search = SearchConfiguration { String(decoding: $0, as: UTF8.self) }
            search.linger = .milliseconds(1)
            search.isAhead = true
            change(&search)
            configuration.search = search
        }
    }

    private func seqs(
        _ storage: ShardStorage, _ text: String, of life: Incarnation = life,
        _ change: (inout SearchQuery) -> Void = { _ in }
    ) async throws -> [UInt64] {
        var query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern(text)))
        query.limit = 100
        change(&query)
        var found: [UInt64] = []
        for _ in 0..<1_000 {
            let page = try await storage.found(query)
            found += page.rows.map(\.seq)
            guard let next = page.next else { return found }
            if let former = query.after {
                let isFurther = next.beforeSeq < former.beforeSeq || next.file ?? last < former.file ?? last
                #expect(isFurther, "a page that has a next one has its place further back")
            }
            query.after = next
        }
        Issue.record("a search has no end")
        return found
    }

    @Test("words with very many places in the index are looked for without it, and all messages are found")
    func wideWords() async throws {
        let shard = try TestShard(now: noon)
        let storage = try open(shard)
        // 30,000 different words that begin alike; some messages have another one.
        for seq in UInt64(1)...300 {
            let many = (0..<100).map { "a\(seq)x\($0)" }.joined(separator: " ")
            storage.write([text(seq, seq % 50 == 0 ? many + " needle" : many)])
        }
        storage.write([text(301, "needle")])
        try await storage.indexed()
        #expect(try await seqs(storage, "a") == Array((UInt64(1)...300).reversed()))
        #expect(try await seqs(storage, "a needle") == [300, 250, 200, 150, 100, 50])
        #expect(try await seqs(storage, "needle") == [301, 300, 250, 200, 150, 100, 50])
        #expect(try await seqs(storage, "a17x a17x99") == [17])
        #expect(try await seqs(storage, "a zzz").isEmpty)
        storage.close()
    }

    @Test("a message is found as soon as it was written, whether it is in the index or not, the newest first")
    func finds() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        storage.write([text(1, "Hello World"), text(2, "小白你好"), text(3, "hello 小明"), text(4, "HELP")])
        #expect(try await seqs(storage, "hel") == [4, 3, 1])
        try await storage.indexed()
        #expect(try await seqs(storage, "hel") == [4, 3, 1])
        #expect(try await seqs(storage, "白你") == [2])
        #expect(try await seqs(storage, "小") == [3, 2])
        #expect(try await seqs(storage, "hello 小") == [3])
        #expect(try await seqs(storage, "none") == [])
        storage.write([text(5, "hello again")])
        #expect(try await seqs(storage, "hello") == [5, 3, 1])
        #expect(try shard.searchFiles() == ["search-history-2026-06-15.sqlite"])
        storage.close()
    }

    @Test("a room finds nothing of another room, nor of its own former life")
    func rooms() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        let other = Incarnation(2)
        storage.write([text(1, "word"), text(1, "word of another", of: other), text(2, "word", of: other)])
        for _ in 0..<2 {
            #expect(try await seqs(storage, "word") == [1])
            #expect(try await seqs(storage, "word", of: other) == [2, 1])
            #expect(try await seqs(storage, "another") == [])
            #expect(try await seqs(storage, "word", of: Incarnation(3)) == [])
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("sender, types and times are looked at, and pages go on without a gap")
    func filters() async throws {
        let shard = try TestShard()
        let storage = try open(shard) { $0.blockRows = 50 }
        var rows = (1...500).map { text(UInt64($0), "word \($0)") }
        for index in rows.indices {
            rows[index].type = index % 5
            rows[index].sender = index % 3 == 0 ? "ann" : "bob"
        }
        storage.write(rows)
        for _ in 0..<2 {
            let all = (1...500).reversed().map { UInt64($0) }
            #expect(try await seqs(storage, "word") { $0.limit = 7 } == all)
            #expect(try await seqs(storage, "word") { $0.sender = "ann" } == all.filter { ($0 - 1) % 3 == 0 })
            #expect(
                try await seqs(storage, "word") { $0.types = [1, 2] } == all.filter { [1, 2].contains(($0 - 1) % 5) })
            let times = try await seqs(storage, "word") {
                ($0.startTime, $0.endTime) = (noon.adding(milliseconds: 100), noon.adding(milliseconds: 200))
            }
            #expect(times == all.filter { (100...200).contains($0) })
            #expect(try await seqs(storage, "word 49") == [499, 498, 497, 496, 495, 494, 493, 492, 491, 490, 49])
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("a page has at most a hundred messages, and at most the bytes of a reply")
    func bounds() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        storage.write((1...150).map { text(UInt64($0), "word") })
        var query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern("word")))
        query.limit = 1_000
        #expect(try await storage.found(query).rows.count == 100)
        query.limit = 0
        #expect(try await storage.found(query).rows.count == 1)
        let long = String(repeating: "word ", count: 6_000)
        storage.write((151...200).map { text(UInt64($0), long) })
        query.limit = 100
        let page = try await storage.found(query)
        #expect(page.rows.reduce(0) { $0 + $1.payload.count } <= Limits.pageBytes)
        #expect(page.rows.count > 1 && page.next != nil)
        #expect(try await seqs(storage, "word") == (1...200).reversed().map { UInt64($0) })
        storage.close()
    }

    @Test(
        "a search that takes too long ends with the place to go on from, which leads to everything",
        arguments: [true, false])
    func slices(isIndexed: Bool) async throws {
        let shard = try TestShard()
        let storage = try open(shard) {
            $0.sliceMax = .zero
            $0.blockRows = 20
        }
        let day = Int64(Timestamp.millisecondsPerDay)
        for back in (0..<4).reversed() {
            let base = UInt64(3 - back) * 1_000
            storage.write(
                (1...300).map {
                    text(
                        base + $0, $0 % 100 == 0 ? "rare word" : "common",
                        at: noon.adding(milliseconds: Int64($0) - Int64(back) * day))
                })
        }
        if isIndexed { try await storage.indexed() }
        let expected: [UInt64] = [3_300, 3_200, 3_100, 2_300, 2_200, 2_100, 1_300, 1_200, 1_100, 300, 200, 100]
        #expect(try await seqs(storage, "rare") == expected)
        #expect(try await seqs(storage, "none") == [])
        #expect(try await seqs(storage, "common") { $0.limit = 100 }.count == 1_188)
        let first = try await storage.found(
            SearchQuery(incarnation: life, pattern: try #require(SearchPattern("none"))))
        #expect(first.rows.isEmpty && first.next != nil)
        storage.close()
    }

    @Test("a recalled message is not found, and its words are in no file of the shard any more")
    func recall() async throws {
        let shard = try TestShard()
        let storage = try open(shard) { $0.scrubDelay = .zero }
        storage.write((1...300).map { text(UInt64($0), "word \($0)") } + [text(301, "word verysecretword here")])
        try await storage.indexed()
        #expect(try shard.has("verysecretword"))
        #expect(try await seqs(storage, "verysecret") == [301])
        storage.write([], [erasure(301, index: 400)])
        #expect(try await seqs(storage, "verysecret") == [])
        #expect(try await seqs(storage, "word").count == 100 * 3)
        try await storage.indexed()
        _ = try await storage.checkpoint()
        #expect(try shard.has("word 30"))
        #expect(try await seqs(storage, "word").count == 300)
        try await storage.indexed()
        #expect(try !shard.searchHas("verysecretword"), "while it runs")
        storage.close()
        #expect(try !shard.has("verysecretword"))
    }

    @Test("many recalls at once, as by blacklisting, leave no words")
    func recalls() async throws {
        let shard = try TestShard()
        let storage = try open(shard) {
            $0.scrubDelay = .zero
            $0.blockRows = 100
        }
        storage.write((1...500).map { text(UInt64($0), "number\($0)x of \($0 % 2 == 0 ? "badworduser" : "good")") })
        try await storage.indexed()
        storage.write([], (1...250).map { erasure(2 * $0, index: 600) })
        #expect(try await seqs(storage, "badworduser") == [])
        try await storage.indexed()
        #expect(try await seqs(storage, "badworduser") == [])
        #expect(try await seqs(storage, "good").count == 250)
        #expect(try !shard.searchHas("badworduser"))
        storage.close()
    }

    @Test("an amended message is found by its newest text only, and the former one leaves the file")
    func amendment() async throws {
        let shard = try TestShard()
        let storage = try open(shard) { $0.scrubDelay = .zero }
        storage.write([text(1, "formertextword"), text(2, "other")])
        try await storage.indexed()
        var amended = text(1, "newer words")
        (amended.index, amended.isAmendment) = (10, true)
        storage.write([amended])
        for _ in 0..<2 {
            #expect(try await seqs(storage, "formertextword") == [])
            #expect(try await seqs(storage, "newer") == [1])
            try await storage.indexed()
        }
        #expect(try !shard.searchHas("formertextword"))
        storage.close()
    }

    @Test("an index is taken up again at the next start, completed after a crash, and made where there was none")
    func starts() async throws {
        let shard = try TestShard()
        var storage = try shard.open()
        storage.write((1...50).map { text(UInt64($0), "early \($0)") })
        storage.close()
        storage = try open(shard)
        #expect(try await seqs(storage, "early").count == 50)
        try await storage.indexed()
        storage.write([text(51, "late")])
        storage.close()
        // The index knows nothing of what this one writes.
        storage = try shard.open { $0.search = nil }
        #expect(try shard.searchFiles().isEmpty, "no index stays that recalls would not reach")
        storage.write([text(52, "later")])
        storage.close()
        storage = try open(shard)
        try await storage.indexed()
        #expect(try await seqs(storage, "lat") == [52, 51])
        #expect(try await seqs(storage, "early").count == 50)
        storage.close()
    }

    @Test("an index that was left behind by a crash is completed", arguments: [true, false])
    func leftBehind(hasRecall: Bool) async throws {
        let shard = try TestShard()
        var storage = try open(shard) { $0.scrubDelay = .zero }
        storage.write((1...20).map { text(UInt64($0), "early \($0)") })
        try await storage.indexed()
        storage.close()
        let copies = try shard.copySearchFiles()
        storage = try open(shard)
        storage.write([text(21, "late")], hasRecall ? [erasure(3, index: 30)] : [])
        try await storage.indexed()
        storage.close()
        try shard.putBack(copies)
        storage = try open(shard) { $0.scrubDelay = .zero }
        for _ in 0..<2 {
            #expect(try await seqs(storage, "late") == [21])
            #expect(try await seqs(storage, "early").count == (hasRecall ? 19 : 20))
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("a damaged index is made anew, and searches find everything meanwhile", arguments: [0, 100, 4_096, 9_000])
    func damage(at offset: Int) async throws {
        let shard = try TestShard()
        var storage = try open(shard)
        storage.write((1...400).map { text(UInt64($0), "word \($0)") })
        try await storage.indexed()
        storage.close()
        try shard.damage(at: offset)
        storage = try open(shard)
        #expect(try await seqs(storage, "word").count == 400)
        #expect(try await seqs(storage, "word 40") == [400, 40])
        // Searches tell of what they could not read.
        try await storage.indexed()
        #expect(try await seqs(storage, "word").count == 400)
        try await storage.indexed()
        #expect(try await seqs(storage, "word 40") == [400, 40])
        storage.close()
    }

    @Test("the figures tell which rows wait, which files have no index, and which indexes were damaged")
    func figures() async throws {
        let shard = try TestShard()
        var storage = try open(shard) { $0.linger = .seconds(3_600) }
        try await storage.indexed()
        #expect(storage.searchFigures == SearchFigures())
        storage.write([text(1, "word"), text(2, "word")])
        _ = try await storage.checkpoint()
        // A new file is compared with its index first.
        #expect(storage.searchFigures.incompleteFiles == 1 && storage.searchFigures.waitingRows == 0)
        try await storage.indexed()
        #expect(storage.searchFigures == SearchFigures())
        storage.write([text(3, "word"), text(1, "other", of: Incarnation(2))], [erasure(1, index: 9)])
        _ = try await storage.checkpoint()
        #expect(storage.searchFigures.waitingRows == 3 && storage.searchFigures.incompleteFiles == 0)
        try await storage.indexed()
        #expect(storage.searchFigures == SearchFigures())
        storage.close()
        try shard.damage(at: 0)
        storage = try open(shard)
        try await storage.indexed()
        #expect(storage.searchFigures.rebuilds >= 1 && storage.searchFigures.errors >= 1)
        #expect(storage.searchFigures.waitingRows == 0 && storage.searchFigures.incompleteFiles == 0)
        storage.close()
        storage = try shard.open()
        #expect(storage.searchFigures == SearchFigures())
        storage.close()
    }

    @Test("an index goes with its day, and one without a day file goes at the start")
    func expiry() async throws {
        let shard = try TestShard()
        var storage = try open(shard)
        storage.write([text(1, "word")])
        try await storage.indexed()
        shard.clock.now = noon.adding(milliseconds: 12 * Timestamp.millisecondsPerDay)
        #expect(try await seqs(storage, "word") == [])
        try await storage.removeExpiredFiles()
        try await storage.indexed()
        #expect(try shard.searchFiles().isEmpty)
        storage.close()
        try shard.putBack(["search-history-2026-06-01.sqlite": Data("rest".utf8)])
        storage = try open(shard)
        try await storage.indexed()
        #expect(try shard.searchFiles().isEmpty)
        storage.close()
    }

    @Test("what has expired in a file that is still there is not found, and neither is what the room does not show")
    func expiredRows() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        let hour = Int64(3_600_000)
        storage.write((0..<6).map { text(UInt64($0) + 1, "word", at: noon.adding(milliseconds: Int64($0) * hour)) })
        shard.clock.now = noon.adding(milliseconds: 10 * Timestamp.millisecondsPerDay + 2 * hour)
        for _ in 0..<2 {
            #expect(try await seqs(storage, "word") == [6, 5, 4, 3])
            let own = noon.adding(milliseconds: 4 * hour)
            #expect(try await seqs(storage, "word") { $0.visibleSince = own } == [6, 5])
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("more changes than may wait make the file be compared as a whole")
    func overflow() async throws {
        let shard = try TestShard()
        let storage = try open(shard) {
            $0.pendingMax = 10
            $0.linger = .seconds(60)
        }
        storage.write((1...100).map { text(UInt64($0), "word") })
        #expect(try await seqs(storage, "word").count == 100)
        try await storage.indexed()
        storage.write((101...200).map { text(UInt64($0), "word") })
        #expect(try await seqs(storage, "word").count == 200)
        try await storage.indexed()
        #expect(try await seqs(storage, "word").count == 200)
        storage.close()
    }

    @Test("a search of a reader who has gone ends, and search that is off is refused")
    func refusals() async throws {
        let shard = try TestShard()
        var storage = try open(shard)
        storage.write([text(1, "word")])
        let reader = HistoryReader()
        reader.leave()
        let query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern("word")))
        await #expect(throws: StorageError.self) { try await storage.found(query, for: reader) }
        #expect(storage.isSearchable)
        storage.close()
        storage = try shard.open()
        #expect(!storage.isSearchable)
        await #expect(throws: StorageError.self) { try await storage.found(query) }
        storage.close()
    }

    @Test("a replica that gets its history from another one finds all of it, before and after its index is made")
    func backfill() async throws {
        let (there, here) = (try TestShard(), try TestShard())
        let source = try open(there)
        defer { source.close() }
        let day = Int64(Timestamp.millisecondsPerDay)
        for seq in 1...60 as ClosedRange<UInt64> {
            source.write([text(seq, "word \(seq)", at: noon.adding(milliseconds: (Int64(seq) / 20 - 3) * day))])
        }
        source.write([], [Erasure(incarnation: life, seq: 5, day: noon.day - 3, index: 61)])
        source.write([try roomRow("a", index: 62)], applied: 62)
        try await source.indexed()
        var storage = try open(here)
        // It has a part of it, with an index, and of one message another state.
        storage.write(
            (1...8).map { text($0, "word \($0)", at: noon.adding(milliseconds: (Int64($0) / 20 - 3) * day)) })
        try await storage.indexed()
        _ = try await storage.install(from: source)
        var steps = 0
        // The log entry of a day file does not tell which rows have come: after a crash its index would seem whole.
        var isRemoved = false
        let expected = (1...60).reversed().filter { $0 != 5 }.map { UInt64($0) }
        while try await storage.backfillOnce(from: source, bytesMax: 300) {
            steps += 1
            try #require(steps < 200)
            if try here.searchFiles().isEmpty { isRemoved = true }
            let found = try await seqs(storage, "word")
            #expect(Set(found).isSubset(of: Set(expected + [5])))
            // Each message that is here is found.
            var query = HistoryQuery(incarnation: life, limit: 100)
            query.order = .descending
            #expect(try await storage.page(query).rows.filter { !$0.recalled }.map(\.seq) == found)
            if steps % 4 == 0 {
                try await storage.indexed()
                storage.close()
                storage = try open(here)
            }
        }
        #expect(steps > 5 && isRemoved)
        for _ in 0..<2 {
            #expect(try await seqs(storage, "word") == expected)
            try await storage.indexed()
        }
        #expect(try here.searchFiles().count == 4)
        storage.close()
    }

    @Test("thousands of rooms and very long words are bounds that nobody notices")
    func manyRooms() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        storage.write((1...5_000).map { text($0 % 2 + 1, "word of \($0)", of: Incarnation(1_000 + $0)) })
        let long = String(repeating: "abcdefghij", count: 3_000)
        storage.write([text(1, long), text(2, "é" + String(repeating: "é", count: 60)), text(3, "abcdefghi")])
        try await storage.indexed()
        for room in [1, 2, 4_096, 4_097, 5_000] as [UInt64] {
            #expect(try await seqs(storage, "word", of: Incarnation(1_000 + room)) == [room % 2 + 1])
        }
        #expect(try await seqs(storage, "abcdefghi") == [3, 1])
        // Longer than what of a word is in the index.
        #expect(try await seqs(storage, String(long.prefix(250))) == [1])
        #expect(try await seqs(storage, String(long.prefix(63)) + "x") == [])
        #expect(try await seqs(storage, String(long.prefix(100)) + "x") == [])
        #expect(try await seqs(storage, String(repeating: "e", count: 61)) == [2])
        #expect(try await seqs(storage, String(repeating: "e", count: 62)) == [])
        storage.close()
    }

    @Test("a backup can be searched, and its index is made there")
    func backup() async throws {
        let shard = try TestShard()
        let storage = try open(shard)
        storage.write([text(1, "word one"), text(2, "word two")])
        try await storage.indexed()
        let copy = shard.directory.path + "/copy"
        _ = try await storage.answer { storage.backup(to: copy, completion: $0) } as UInt64
        storage.close()
        let names = try TemporaryDirectory.names(in: copy)
        #expect(!names.contains { $0.hasPrefix("search-") })
        let restored = try TestShard()
        try FileManager.default.copyItem(atPath: copy, toPath: restored.directory.path + "/shard")
        let second = try open(restored)
        try await second.indexed()
        #expect(try await seqs(second, "word") == [2, 1])
        second.close()
    }
}

extension ShardStorage {
    func found(_ query: SearchQuery, for reader: HistoryReader? = nil) async throws -> SearchPage {
        try await answer { search(query, for: reader, completion: $0) }
    }

    func indexed() async throws {
        try await answer { (done: @escaping @Sendable (Result<Void, StorageError>) -> Void) in
            awaitIndexes(completion: done)
        }
    }
}

extension TestShard {
    private var path: String { directory.path + "/shard/" }

    func searchFiles() throws -> [String] { try fileNames().filter { $0.hasPrefix("search-") } }

    private func contents(_ isIncluded: (String) -> Bool) throws -> [String: Data] {
        var all: [String: Data] = [:]
        for name in try TemporaryDirectory.names(in: directory.path + "/shard") where isIncluded(name) {
            all[name] = try Data(contentsOf: URL(fileURLWithPath: path + name))
        }
        return all
    }

    func has(_ text: String) throws -> Bool {
        try contents { _ in true }.values.contains { $0.range(of: Data(text.utf8)) != nil }
    }

    func searchHas(_ text: String) throws -> Bool {
        try contents { $0.hasPrefix("search-") }.values.contains { $0.range(of: Data(text.utf8)) != nil }
    }

    func copySearchFiles() throws -> [String: Data] { try contents { $0.hasPrefix("search-") } }

    func putBack(_ files: [String: Data]) throws {
        for (name, data) in files { try data.write(to: URL(fileURLWithPath: path + name)) }
    }

    /// Overwrites some bytes of the one index.
    func damage(at offset: Int) throws {
        var files = try copySearchFiles()
        for name in files.keys {
            guard var data = files[name] else { continue }
            for index in offset..<min(offset + 3_000, data.count) { data[index] = 0x5A }
            files[name] = data
        }
        try putBack(files)
    }
}
