import ChatModel
import History
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

/// Searches against a look at all rows, over random writes, recalls, amendments, crashes and power cuts.
@Suite struct SearchPropertyTests {
    /// A clock that goes on with each look at it: turns and pages end behind a few messages.
    private final class HurriedClock: Sendable {
        private let began = ContinuousClock.now
        private let looks = Atomic(0)

        var now: ContinuousClock.Instant {
            began + .milliseconds(3 * looks.add(1, ordering: .relaxed).newValue)
        }
    }

    private static let words = ["apple", "apricot", "berry", "小白", "白小", "hello", "help", "Ärger", "argent"]
    private static let wanted = ["a", "ap", "apple", "hel", "小", "小白", "白小", "arg", "hello 小", "none"]

    private func entry(_ index: UInt64) -> StorageBatch {
        var random = SeededGenerator(seed: index)
        var batch = StorageBatch(appliedIndex: index)
        let time = noon.adding(milliseconds: Int64(index) * 40 * 60_000)
        let text = (0..<3).compactMap { _ in Self.words.randomElement(using: &random) }.joined(separator: " ")
        var message = row(index, at: time)
        message.payload = Array(text.utf8)
        message.incarnation = Incarnation(1 + index % 3)
        batch.history.append(message)
        guard index > 6 else { return batch }
        let former = index - UInt64.random(in: 1...6, using: &random) / 3 * 3
        guard former > 0, former < index, former % 3 == index % 3 else { return batch }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let day = noon.adding(milliseconds: Int64(former) * 40 * 60_000).day
            batch.erasures.append(
                Erasure(incarnation: Incarnation(1 + former % 3), seq: former, day: day, index: index))
        case 1:
            var amended = row(former, at: noon.adding(milliseconds: Int64(former) * 40 * 60_000), index: index)
            (amended.incarnation, amended.isAmendment) = (Incarnation(1 + former % 3), true)
            amended.payload = Array("amended \(Self.words[Int(index) % Self.words.count])".utf8)
            batch.history.append(amended)
        default: break
        }
        return batch
    }

    private func all(_ storage: ShardStorage, of life: Incarnation) async throws -> [HistoryRow] {
        var query = HistoryQuery(incarnation: life, limit: 100)
        var rows: [HistoryRow] = []
        for _ in 0..<100 {
            let page = try await storage.page(query)
            rows += page.rows
            guard page.more else { return rows }
            query.beforeSeq = rows.last?.seq
        }
        throw StorageError(.io, "history has no end")
    }

    private func verify(_ storage: ShardStorage, _ seed: UInt64) async throws {
        for life in 1...3 {
            let rows = try await all(storage, of: Incarnation(UInt64(life)))
            for text in Self.wanted {
                let pattern = try #require(SearchPattern(text))
                let fitting = rows.filter {
                    !$0.recalled && pattern.matches(String(decoding: $0.payload, as: UTF8.self))
                }
                var query = SearchQuery(incarnation: Incarnation(UInt64(life)), pattern: pattern)
                query.limit = 7
                var found: [HistoryRow] = []
                for _ in 0..<200 {
                    let page = try await storage.found(query)
                    found += page.rows
                    query.after = page.next
                    if page.next == nil { break }
                }
                #expect(found == fitting, "seed \(seed), room \(life), \(text)")
            }
        }
    }

    private func open(_ shard: TestShard, _ disk: FaultDisk?, _ random: inout SeededGenerator) throws -> ShardStorage {
        let clock = Bool.random(using: &random) ? HurriedClock() : nil
        let slice: Duration = clock == nil && Bool.random(using: &random) ? .zero : .milliseconds(50)
        let isAhead = Bool.random(using: &random)
        // Some blocks have too many places of some words.
        let placesMax: Int64 = Bool.random(using: &random) ? 20_000 : .random(in: 0...8, using: &random)
        return try shard.open(disk: disk) { configuration in
            var search = SearchConfiguration { String(decoding: $0, as: UTF8.self) }
            (search.linger, search.blockRows, search.pendingMax) = (.milliseconds(1), 10, 40)
            (search.isAhead, search.unindexedMax, search.placesMax) = (isAhead, 2, placesMax)
            if let clock { search.now = { clock.now } }
            (search.scrubDelay, search.retryDelay, search.sliceMax) = (.zero, .milliseconds(10), slice)
            configuration.search = search
            configuration.pendingBytesMax = 1 << 30
            configuration.retentionDays = 100
        }
    }

    @Test(
        "whatever was written is found, and nothing else, also after power cuts", arguments: 1...UInt64(12))
    func survives(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let disk = FaultDisk()
        let shard = try TestShard()
        for _ in 0..<4 {
            let storage = try open(shard, disk, &random)
            var applied = storage.appliedIndex
            try await verify(storage, seed)
            let cuts = Bool.random(using: &random)
            if cuts { disk.cutPower(after: .random(in: 0...600, using: &random)) }
            for _ in 0..<12 {
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    applied += 1
                    storage.write(entry(applied))
                }
                if Int.random(in: 0..<4, using: &random) == 0 { do { _ = try await storage.checkpoint() } catch {} }
                if !cuts {
                    if Bool.random(using: &random) { try await storage.indexed() }
                    if Bool.random(using: &random) { try await verify(storage, seed) }
                }
            }
            if cuts { disk.cutPower() }
            storage.close()
            if cuts {
                let loss: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 1 ... .max, using: &random)
                #expect(disk.powerOn(seed: loss), "seed \(seed)")
            }
        }
        let storage = try open(shard, disk, &random)
        try await verify(storage, seed)
        try await storage.indexed()
        try await verify(storage, seed)
        storage.close()
    }

    /// The messages of a room that fit, by their seqs.
    private func fitting(
        _ storage: ShardStorage, _ pattern: SearchPattern, of life: Incarnation
    ) async throws -> [UInt64] {
        try await all(storage, of: life).filter {
            !$0.recalled && pattern.matches(String(decoding: $0.payload, as: UTF8.self))
        }.map(\.seq)
    }

    @Test(
        "messages that come, are amended or recalled between two pages hide no others, and none is found twice",
        arguments: 1...UInt64(8))
    func changesBetweenPages(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let shard = try TestShard()
        let storage = try open(shard, nil, &random)
        let first = UInt64(400)
        for index in 1...first { storage.write(entry(index)) }
        if Bool.random(using: &random) { try await storage.indexed() }
        var applied = first
        for text in Self.wanted {
            let pattern = try #require(SearchPattern(text))
            var query = SearchQuery(incarnation: life, pattern: pattern)
            query.limit = Int.random(in: 1...4, using: &random)
            // Each changes once at most until the search is over, so one that fits before and after fits meanwhile.
            let settled = applied - 6
            let before = try await fitting(storage, pattern, of: life).filter { $0 <= settled }
            var changed: Set<UInt64> = []
            var (found, isOver) = ([UInt64](), false)
            for _ in 0..<2_000 where !isOver {
                let page = try await storage.found(query)
                found += page.rows.map(\.seq)
                query.after = page.next
                isOver = page.next == nil
                if Int.random(in: 0..<4, using: &random) == 0 {
                    applied += 1
                    storage.write(entry(applied))
                    // An old message, which may be in the part that is still to be looked at.
                    let old = UInt64.random(in: 1...(first / 3 - 3), using: &random) * 3
                    guard changed.insert(old).inserted else { continue }
                    let time = noon.adding(milliseconds: Int64(old) * 40 * 60_000)
                    applied += 1
                    var batch = StorageBatch(appliedIndex: applied)
                    if Bool.random(using: &random) {
                        batch.erasures.append(
                            Erasure(incarnation: life, seq: old, day: time.day, index: applied))
                    } else {
                        var amended = row(old, at: time, index: applied)
                        (amended.incarnation, amended.isAmendment) = (life, true)
                        amended.payload = Array("amended \(Self.words.randomElement(using: &random) ?? "")".utf8)
                        batch.history.append(amended)
                    }
                    storage.write(batch)
                }
                if Int.random(in: 0..<6, using: &random) == 0 { try await storage.indexed() }
            }
            let after = Set(try await fitting(storage, pattern, of: life))
            #expect(isOver && found == Array(Set(found)).sorted(by: >), "seed \(seed), \(text)")
            #expect(after.intersection(before).isSubset(of: found), "seed \(seed), \(text)")
        }
        storage.close()
    }

    @Test("while the disk is full searches find what is in the day files, and the index follows later")
    func full() async throws {
        var random = SeededGenerator(seed: 5)
        let disk = FaultDisk()
        let shard = try TestShard()
        let storage = try open(shard, disk, &random)
        for index in 1...40 { storage.write(entry(UInt64(index))) }
        _ = try await storage.checkpoint()
        for fault in 0..<2 {
            if fault == 0 { disk.isFull = true } else { disk.isFailing = true }
            do { try await verify(storage, 5) } catch let error as StorageError { #expect(error.code != .corrupt) }
            (disk.isFull, disk.isFailing) = (false, false)
            try await storage.indexed()
            try await verify(storage, 5)
            for index in (41 + 20 * fault)...(60 + 20 * fault) { storage.write(entry(UInt64(index))) }
        }
        try await storage.indexed()
        try await verify(storage, 5)
        storage.close()
    }
}
