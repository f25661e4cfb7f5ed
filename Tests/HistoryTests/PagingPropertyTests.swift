import ChatModel
import History
import StorageTestKit
import Testing

/// What paging must give, said in the simplest way.
private struct NaiveHistory {
    var rows: [HistoryRow] = []

    func page(_ query: HistoryQuery, cutoff: Timestamp) -> (rows: [HistoryRow], more: Bool) {
        let fitting = rows.filter { row in
            guard row.incarnation == query.incarnation, row.time >= cutoff else { return false }
            if let start = query.startTime {
                if query.order == .ascending, row.time < start { return false }
                if query.order == .descending, row.time > start { return false }
            }
            if let before = query.beforeSeq, row.seq >= before { return false }
            if let after = query.afterSeq, row.seq <= after { return false }
            if let types = query.types, !types.contains(row.type) { return false }
            if let sender = query.sender, row.sender != sender { return false }
            return true
        }
        let sorted = fitting.sorted { query.order == .ascending ? $0.seq < $1.seq : $0.seq > $1.seq }
        let limit = min(max(query.limit, 1), 100)
        var page = Array(sorted.prefix(limit))
        while page.count > 1, page.reduce(0, { $0 + $1.payload.count }) > Limits.pageBytes { page.removeLast() }
        return (page, sorted.count > page.count)
    }
}

@Suite struct PagingPropertyTests {
    @Test(arguments: SeededGenerator.seeds(6))
    func `pages are those of a naive model, for random histories and queries`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let shard = try TestShard(blockRowsMin: seed % 2 == 0 ? 8 : 1)
        let storage = try shard.open { $0.typeRunRows = seed % 3 == 0 ? 1 : 8 }
        defer { storage.close() }
        var model = NaiveHistory()
        let lives = [Incarnation(3), Incarnation(.max), Incarnation(900)]
        var index: UInt64 = 0
        for life in lives {
            // Twelve days, of which the first ones have expired; many equal times; holes where back-fill is missing.
            var time = noon.adding(seconds: -12 * 86_400)
            var seq: UInt64 = 0
            for _ in 0..<Int.random(in: 0...700, using: &random) {
                seq += Int.random(in: 0..<20, using: &random) == 0 ? 5 : 1
                if Bool.random(using: &random) {
                    time = min(noon, time.adding(milliseconds: .random(in: 0...4_000_000, using: &random)))
                }
                index += 1
                model.rows.append(
                    row(
                        seq, at: time, index: index, of: life, type: .random(in: 0...5, using: &random),
                        sender: Bool.random(using: &random) ? "ann" : "bob",
                        bytes: .random(in: 0...3_000, using: &random)))
            }
        }
        // Written in another order, as back-fill does.
        for chunk in stride(from: 0, to: model.rows.count, by: 50) {
            let some = model.rows[chunk..<min(chunk + 50, model.rows.count)]
            storage.write(Bool.random(using: &random) ? Array(some) : some.shuffled(using: &random))
            if Int.random(in: 0..<4, using: &random) == 0 { _ = try await storage.checkpoint() }
        }
        // What is still to be written when the clock moves could expire before it is.
        _ = try await storage.checkpoint()
        for _ in 0..<150 {
            shard.clock.now = noon.adding(milliseconds: .random(in: 0...(3 * 86_400_000), using: &random))
            var query = HistoryQuery(incarnation: lives.randomElement(using: &random) ?? lives[0])
            query.order = Bool.random(using: &random) ? .ascending : .descending
            query.limit = .random(in: -1...120, using: &random)
            let some = model.rows.randomElement(using: &random)
            if Bool.random(using: &random) {
                query.startTime = some?.time.adding(milliseconds: .random(in: -1...1, using: &random))
            }
            if Int.random(in: 0..<3, using: &random) == 0 { query.beforeSeq = .random(in: 0...800, using: &random) }
            if Int.random(in: 0..<3, using: &random) == 0 { query.afterSeq = .random(in: 0...800, using: &random) }
            if Int.random(in: 0..<20, using: &random) == 0 { query.afterSeq = .max }
            if Int.random(in: 0..<3, using: &random) == 0 { query.types = [1, .random(in: 2...9, using: &random)] }
            if Int.random(in: 0..<4, using: &random) == 0 { query.sender = "bob" }
            let expected = model.page(query, cutoff: shard.clock.now.adding(seconds: -10 * 86_400))
            let page = try await storage.page(query)
            #expect(page.rows.map(\.seq) == expected.rows.map(\.seq), "seed \(seed), \(query)")
            let areEqual = page.rows == expected.rows
            #expect(areEqual, "seed \(seed), \(query)")
            #expect(page.more == expected.more, "seed \(seed), \(query)")
        }
    }

    @Test func `paging through everything in either direction meets every message once`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        let count: UInt64 = 9_000
        storage.write(
            (1...count).map { row($0, at: noon.adding(seconds: -80 * Int64(count - $0)), type: $0 % 900 == 0 ? 1 : 0) })
        for order in HistoryQuery.Order.allCases {
            var query = HistoryQuery(incarnation: life, order: order, limit: 100)
            var seqs: [UInt64] = []
            var more = true
            while more {
                let page = try await storage.page(query)
                seqs += page.rows.map(\.seq)
                more = page.more
                if order == .ascending {
                    query.afterSeq = page.rows.last?.seq
                } else {
                    query.beforeSeq = page.rows.last?.seq
                }
            }
            #expect(seqs == (order == .ascending ? Array(1...count) : (1...count).reversed()))
            // A filter that needs several slices.
            var rare = HistoryQuery(incarnation: life, order: order, limit: 10)
            rare.types = [1]
            let page = try await storage.page(rare)
            #expect(page.rows.count == 10)
            #expect(!page.more)
        }
    }
}
