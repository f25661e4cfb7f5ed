import Testing

@testable import RoomCore

@Suite struct SortedListTests {
    @Test(arguments: Seed.seeds(4))
    func `it is a sorted set`(seed: UInt64) {
        var random = Seed(seed)
        var list = SortedList<Int>()
        var naive: Set<Int> = []
        let range = Int.random(in: 10...6000, using: &random)
        for step in 0..<12_000 {
            // Grows, then shrinks, so that chunks split and join.
            let inserts = step < 6000 ? 3 : 1
            let element = Int.random(in: 0..<range, using: &random)
            if Int.random(in: 0..<4, using: &random) < inserts {
                #expect(list.insert(element) == naive.insert(element).inserted, "SEED=\(seed)")
            } else {
                #expect(list.remove(element) == (naive.remove(element) != nil), "SEED=\(seed)")
            }
            #expect(list.count == naive.count, "SEED=\(seed)")
            if step % 500 == 0 { check(list, naive, probe: element, seed) }
        }
        for element in naive { list.remove(element) }
        #expect(list.isEmpty && list.elements.isEmpty && list.first == nil && list.last == nil, "SEED=\(seed)")
    }

    private func check(_ list: SortedList<Int>, _ naive: Set<Int>, probe: Int, _ seed: UInt64) {
        let sorted = naive.sorted()
        #expect(list.elements == sorted, "SEED=\(seed)")
        #expect(list.first == sorted.first && list.last == sorted.last, "SEED=\(seed)")
        #expect(list.contains(probe) == naive.contains(probe), "SEED=\(seed)")
        var up: [Int] = []
        list.ascend(skipping: { $0 <= probe }) { element in
            up.append(element)
            return up.count < 700
        }
        #expect(up == Array(sorted.filter { $0 > probe }.prefix(700)), "SEED=\(seed)")
        var down: [Int] = []
        list.descend(from: { $0 < probe }) { element in
            down.append(element)
            return down.count < 700
        }
        #expect(down == Array(sorted.filter { $0 < probe }.reversed().prefix(700)), "SEED=\(seed)")
    }

    @Test(arguments: Seed.seeds(2))
    func `a dictionary in parts is a dictionary`(seed: UInt64) {
        var random = Seed(seed)
        var parted = PartitionedDictionary<Int, Int>()
        var naive: [Int: Int] = [:]
        for step in 0..<5000 {
            let key = Int.random(in: 0..<1000, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                #expect(parted.removeValue(forKey: key) == naive.removeValue(forKey: key), "SEED=\(seed)")
            case 1:
                parted.update(key) { $0 += 1 }
                naive[key]? += 1
            default:
                parted[key] = step
                naive[key] = step
            }
            #expect(parted.count == naive.count && parted[key] == naive[key], "SEED=\(seed)")
        }
        #expect(Dictionary(uniqueKeysWithValues: parted.entries.map { ($0.key, $0.value) }) == naive, "SEED=\(seed)")
    }
}
