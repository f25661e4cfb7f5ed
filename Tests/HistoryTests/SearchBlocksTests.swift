import ChatModel
import StorageTestKit
import Synchronization
import Testing

@testable import History

/// The blocks of an index: which of them tell a search something, and how much it has to look at for the others.
@Suite struct SearchBlocksTests {
    /// Counts the messages whose text is looked at.
    private final class Looks: Sendable {
        private let number = Atomic(0)

        func add() { number.add(1, ordering: .relaxed) }
        func take() -> Int { number.exchange(0, ordering: .relaxed) }
    }

    /// Each message has a minute of its own: blocks of an index that is made begin with a minute.
    private func said(_ seq: UInt64, _ text: String) -> HistoryRow {
        var row = row(seq, at: noon.adding(milliseconds: Int64(seq) * 60_000))
        row.payload = Array(text.utf8)
        return row
    }

    private func open(
        _ shard: TestShard, blockRows: Int64, _ looks: Looks = Looks(),
        _ change: (inout SearchConfiguration) -> Void = { _ in }
    ) throws -> ShardStorage {
        try shard.open { configuration in
            var search = SearchConfiguration { payload in
                looks.add()
                return String(decoding: payload, as: UTF8.self)
            }
            (search.linger, search.isAhead, search.blockRows) = (.milliseconds(1), true, blockRows)
            change(&search)
            configuration.search = search
        }
    }

    private func seqs(_ storage: ShardStorage, _ text: String) async throws -> [UInt64] {
        var query = SearchQuery(incarnation: life, pattern: try #require(SearchPattern(text)))
        query.limit = 100
        var found: [UInt64] = []
        for _ in 0..<1_000 {
            let page = try await storage.found(query)
            found += page.rows.map(\.seq)
            guard let next = page.next else { return found }
            query.after = next
        }
        Issue.record("a search has no end")
        return found
    }

    private func blocks(_ shard: TestShard) throws -> Int {
        let name = try #require(try shard.searchFiles().first)
        let reader = try SearchIndexReader(path: shard.directory.path + "/shard/" + name, vfs: nil)
        defer { reader.close() }
        return try reader.blocks(upTo: .max).count
    }

    @Test("only the messages of a block with very many places of all words are looked at one by one")
    func wideBlock() async throws {
        let shard = try TestShard()
        let looks = Looks()
        let storage = try open(shard, blockRows: 100, looks) { $0.placesMax = 1_000 }
        // A middle block has 2,000 words that begin alike, and is wide; the ones around it have few of them.
        storage.write(
            (UInt64(1)...300).map { seq -> HistoryRow in
                guard (101...200).contains(seq) else { return said(seq, seq % 50 == 0 ? "a\(seq) needle" : "other") }
                return said(seq, (0..<20).map { "a\(seq)x\($0)" }.joined(separator: " "))
            })
        try await storage.indexed()
        #expect(try blocks(shard) == 3)
        _ = looks.take()
        let expected: [UInt64] = [300, 250] + Array((UInt64(101)...200).reversed()) + [100, 50]
        #expect(try await seqs(storage, "a") == expected)
        // Those of pages that were full may be looked at twice.
        let looked = looks.take()
        #expect((104...110).contains(looked), "\(looked) of 300")
        // The other word is asked for in all blocks.
        #expect(try await seqs(storage, "a needle") == [300, 250, 100, 50])
        #expect(looks.take() == 4)
        #expect(try await seqs(storage, "a150x a") == [150])
        #expect(looks.take() == 1)
        #expect(try await seqs(storage, "a zzz").isEmpty)
        #expect(looks.take() == 0)
        storage.close()
    }

    @Test("words with few places are asked for behind words with very many")
    func manyWideWords() async throws {
        let shard = try TestShard()
        let looks = Looks()
        let storage = try open(shard, blockRows: 1_000, looks) { $0.placesMax = 100 }
        storage.write(
            (UInt64(1)...200).map { said($0, "aaaa\($0) bbbb\($0) cccc\($0) dddd\($0)" + ($0 == 7 ? " e" : "")) })
        try await storage.indexed()
        _ = looks.take()
        #expect(try await seqs(storage, "aaaa bbbb cccc dddd e") == [7])
        #expect(looks.take() == 1)
        storage.close()
    }

    @Test("long messages count as several of a block, when an index is made and when it goes on")
    func longMessages() async throws {
        let shard = try TestShard()
        let storage = try open(shard, blockRows: 100)
        // Each counts as ten.
        let text = String(repeating: "word ", count: 512 * 9 / 5 + 1)
        storage.write((UInt64(1)...40).map { said($0, text) })
        try await storage.indexed()
        #expect(try blocks(shard) == 4)
        for seq in UInt64(41)...60 {
            storage.write([said(seq, text)])
            try await storage.indexed()
        }
        #expect(try blocks(shard) == 6)
        #expect(try await seqs(storage, "word") == (UInt64(1)...60).reversed())
        storage.close()
    }

    @Test("a text of one character again and again is found by as many of them as it has")
    func equalCharacters() async throws {
        let shard = try TestShard()
        let storage = try open(shard, blockRows: 1_000)
        let counts = [3: 10_900, 5: 63, 6: 62, 7: 10_900]
        storage.write(
            (UInt64(1)...8).map { seq -> HistoryRow in
                said(seq, counts[Int(seq)].map { String(repeating: "白", count: $0) } ?? "白 白白 白白白")
            })
        for _ in 0..<2 {
            #expect(try await seqs(storage, String(repeating: "白", count: 63)) == [7, 5, 3])
            #expect(try await seqs(storage, String(repeating: "白", count: 62) + "黑").isEmpty)
            #expect(try await seqs(storage, "白白白白") == [7, 6, 5, 3])
            #expect(try await seqs(storage, "白白白") == [8, 7, 6, 5, 4, 3, 2, 1])
            try await storage.indexed()
        }
        storage.close()
    }

    @Test("of what waits the oldest of a room are taken first, and each once", arguments: 1...UInt64(10))
    func taking(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var keys = SearchState.Keys()
        var expected: [Incarnation: Set<UInt64>] = [:]
        for _ in 0..<3_000 {
            let room = Incarnation(UInt64.random(in: 1...3, using: &random))
            let seq = UInt64.random(in: 1...5_000, using: &random)
            keys.insert(room, seq)
            expected[room, default: []].insert(seq)
        }
        while keys.count > 0 {
            let limit = Int.random(in: 1...400, using: &random)
            let (before, taken) = (keys.count, keys.take(limit))
            #expect(taken.count == min(limit, before) && keys.count == before - taken.count, "seed \(seed)")
            for (room, seqs) in taken.rooms {
                #expect(expected[room]?.sorted().prefix(seqs.count) == seqs.sorted()[...], "seed \(seed)")
                expected[room]?.subtract(seqs)
            }
        }
        #expect(expected.values.allSatisfy(\.isEmpty) && keys.rooms.isEmpty, "seed \(seed)")
    }
}
