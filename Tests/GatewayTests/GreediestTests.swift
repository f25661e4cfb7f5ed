import Testing

@testable import Gateway

@Suite struct GreediestTests {
    private func pick(_ bytes: [Int], freeing: Int) -> [UInt64] {
        Greediest.pick(bytes.enumerated().map { (number: UInt64($0), bytes: $1) }, freeing: freeing)
    }

    @Test func `the greediest go first, until enough is free`() {
        #expect(pick([5_000, 1_000_000, 70_000, 300_000], freeing: 1_200_000) == [1, 3])
        #expect(pick([5_000, 1_000_000, 70_000, 300_000], freeing: 1) == [1])
        #expect(pick([5_000, 1_000_000], freeing: 0).isEmpty)
        #expect(pick([], freeing: 1).isEmpty)
    }

    @Test func `who holds next to nothing does not go, whatever is missing`() {
        #expect(pick([0, 1, Greediest.bytesMin - 1], freeing: .max).isEmpty)
        #expect(pick([Greediest.bytesMin, 100, 1 << 40], freeing: .max) == [2, 0])
    }

    @Test func `nobody goes while somebody stays who holds twice as much`() {
        var state: UInt64 = 42
        for _ in 0..<200 {
            let bytes = (0..<50).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % 2_000_000
            }
            let excess = bytes.reduce(0, +) / 3
            let picked = Set(pick(bytes, freeing: excess))
            let freed = picked.reduce(0) { $0 + bytes[Int($1)] }
            #expect(freed >= excess)
            let least = picked.map { bytes[Int($0)] }.min() ?? 0
            for (number, held) in bytes.enumerated() where !picked.contains(UInt64(number)) {
                #expect(held < 2 * least)
            }
        }
    }
}
