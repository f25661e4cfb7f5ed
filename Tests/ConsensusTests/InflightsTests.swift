import ChatModel
import Testing

@testable import Consensus

@Suite struct InflightsTests {
    @Test func `it is full at either bound`() {
        var byCount = Inflights(countMax: 2, bytesMax: 100)
        byCount.add(lastIndex: 1, bytes: 1)
        #expect(!byCount.isFull)
        byCount.add(lastIndex: 2, bytes: 1)
        #expect(byCount.isFull)
        var byBytes = Inflights(countMax: 10, bytesMax: 100)
        byBytes.add(lastIndex: 1, bytes: 99)
        #expect(!byBytes.isFull)
        byBytes.add(lastIndex: 2, bytes: 1)
        #expect(byBytes.isFull)
        byBytes.release(upTo: 1)
        #expect(!byBytes.isFull && byBytes.bytes == 1)
    }

    @Test func `it behaves as a plain list`() {
        var random = TestSeed.generator("inflights")
        var queue = Inflights(countMax: .max, bytesMax: .max)
        var model: [(index: UInt64, bytes: Int)] = []
        var index: UInt64 = 0
        for _ in 0..<5_000 {
            switch random.below(20) {
            case 0..<12:
                index += UInt64(1 + random.below(3))
                let bytes = random.below(100)
                queue.add(lastIndex: index, bytes: bytes)
                model.append((index, bytes))
            case 12..<19:
                let limit = index - min(index, UInt64(random.below(40)))
                queue.release(upTo: limit)
                model.removeAll { $0.index <= limit }
            default:
                queue.removeAll()
                model = []
            }
            #expect(queue.count == model.count)
            #expect(queue.bytes == model.reduce(0) { $0 + $1.bytes })
            #expect(queue.isEmpty == model.isEmpty)
        }
    }
}
