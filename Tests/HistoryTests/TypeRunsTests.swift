import ChatModel
import StorageTestKit
import Testing

@testable import History

@Suite struct TypeRunsTests {
    private func runs(of rows: Int, _ types: [Int: Set<Int>]) -> TypeRuns {
        let runs = TypeRuns(rows: rows)
        for (number, types) in types {
            var walk = TypeRunWalk(life, runs)
            let all = Array(types)
            for step in 0..<rows {
                walk.note(Int64(number * rows + step + 1), all[step % all.count], in: .ascending)
            }
        }
        return runs
    }

    @Test func `what has none of the types is left out, in either direction`() {
        let runs = runs(of: 10, [0: [1], 1: [2], 2: [2], 3: [1], 4: [2]])
        func part(_ range: ClosedRange<Int64>, _ order: HistoryQuery.Order, _ type: Int) -> ClosedRange<Int64>? {
            runs.part(of: range, in: order, of: life, with: TypeMask([type]))
        }
        #expect(part(0...100, .ascending, 1) == 0...10)
        #expect(part(11...100, .ascending, 1) == 31...40)
        // Nothing is known of the sixth run and those behind it.
        #expect(part(41...100, .ascending, 1) == 51...90)
        #expect(part(91...100, .ascending, 1) == 91...100)
        #expect(part(5...45, .descending, 1) == 31...40)
        #expect(part(5...30, .descending, 1) == 5...10)
        #expect(part(11...30, .descending, 1) == nil)
        #expect(part(1...50, .descending, 3) == nil)
        #expect(part(1...55, .descending, 3) == 51...55)
        #expect(part((.max - 1) ... .max, .descending, 3) != nil)
        #expect(
            runs.part(of: 1...50, in: .ascending, of: Incarnation(77), with: TypeMask([3])) == 1...40,
            "another room's runs are its own")
    }

    @Test func `only runs of which each message was seen are known`() {
        let runs = TypeRuns(rows: 10)
        func known(_ seqs: [Int64], _ order: HistoryQuery.Order) -> Bool {
            var walk = TypeRunWalk(life, runs)
            for seq in seqs { walk.note(seq, 1, in: order) }
            return runs.part(of: 11...20, in: .ascending, of: life, with: TypeMask([2])) == nil
        }
        #expect(!known(Array(12...30), .ascending))
        #expect(!known([11, 12, 13, 15, 16, 17, 18, 19, 20], .ascending))
        #expect(!known((11...19).reversed(), .descending))
        #expect(!known((12...25).reversed(), .descending))
        #expect(known((11...25).reversed(), .descending))
    }

    @Test func `numbers beyond a word are one type, and never none`() {
        for type in [31, 100, 5_000, .max, -1] {
            #expect(TypeMask([type]).meets(TypeMask([type])))
        }
        #expect(!TypeMask([100]).meets(TypeMask([4, 30])))
    }

    @Test func `at its bound everything is forgotten and found again`() {
        let runs = TypeRuns(rows: 1, runsMax: 4)
        var walk = TypeRunWalk(life, runs)
        for seq in 1...4 as ClosedRange<Int64> { walk.note(seq, 1, in: .ascending) }
        #expect(runs.part(of: 1...4, in: .ascending, of: life, with: TypeMask([2])) == nil)
        walk.note(5, 1, in: .ascending)
        #expect(runs.part(of: 1...4, in: .ascending, of: life, with: TypeMask([2])) == 1...4)
        #expect(runs.part(of: 5...5, in: .ascending, of: life, with: TypeMask([2])) == nil)
    }

    @Test func `a type that a room does not have is looked for among all messages once`() throws {
        let shard = try TestShard(blockRowsMin: 8)
        let storage = try shard.open()
        defer { storage.close() }
        let count: UInt64 = 9_000
        storage.write((1...count).map { row($0, at: noon.adding(seconds: -20 * Int64(count - $0))) })
        _ = try storage.waited { storage.checkpoint(completion: $0) }
        let names = try shard.fileNames().filter { $0.hasPrefix("history") }
        let files = names.compactMap { HistoryFile(name: $0) }.sorted()
        #expect(files.count > 2)
        var readers: [HistoryFile: DayReader] = [:]
        for file in files {
            readers[file] = try DayReader(path: shard.directory.path + "/shard/" + file.name, vfs: nil)
        }
        defer { for reader in readers.values { reader.close() } }
        var configuration = StorageConfiguration { noon }
        configuration.retentionDays = 30

        let runs = TypeRuns(rows: 100)
        func looked(_ order: HistoryQuery.Order, for type: Int) throws -> Int {
            var query = HistoryQuery(incarnation: life, order: order)
            query.types = [type]
            var scan = HistoryScan(query, files: files, cutoffs: configuration.cutoffs(), runs: runs)
            var looked = 0
            while try !scan.slice(
                rowsMax: 500, .withoutPayload, open: { readers[$0] },
                { _ in
                    looked += 1
                    return true
                })
            {}
            return looked
        }
        #expect(try looked(.descending, for: 3) == Int(count))
        for order in HistoryQuery.Order.allCases {
            #expect(try looked(order, for: 3) == 0)
            #expect(try looked(order, for: 7) == 0)
            #expect(try looked(order, for: 0) == Int(count))
        }
    }
}
