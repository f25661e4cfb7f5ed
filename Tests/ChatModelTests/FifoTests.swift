import ChatModel
import Testing

@Suite struct FifoTests {
    @Test func `a queue gives what it got, in order`() {
        var queue = Fifo<Int>()
        var (next, expected) = (0, 0)
        for round in 0..<300 {
            for _ in 0..<(round % 7) {
                queue.append(next)
                next += 1
            }
            for _ in 0..<(round % 5) where queue.count > 0 {
                #expect(queue.first == expected)
                queue.removeFirst()
                expected += 1
            }
            #expect(queue.count == next - expected)
            #expect(queue.isEmpty == (next == expected))
            #expect(Array(queue) == Array(expected..<next))
            for offset in 0..<queue.count { #expect(queue[offset] == expected + offset) }
        }
        while let first = queue.popFirst() {
            #expect(first == expected)
            expected += 1
        }
        #expect(expected == next)
        queue.removeFirst()
        #expect(queue.count == 0)
    }

    @Test func `what is removed is let go of at once`() {
        final class Thing: Sendable {}
        var queue = Fifo<Thing>()
        weak var first: Thing?
        do {
            let thing = Thing()
            first = thing
            queue.append(thing)
        }
        queue.append(Thing())
        #expect(first != nil)
        queue.removeFirst()
        #expect(first == nil)
        #expect(queue.count == 1)
    }

    @Test func `many are removed at once as one by one`() {
        for count in [0, 1, 5, 200, 3_000] {
            for removed in [0, 1, 4, 100, 150, 2_000, 2_999, 3_001] {
                var queue = Fifo(Array(-1..<count))
                queue.removeFirst()
                queue.removeFirst(removed)
                #expect(Array(queue) == Array(min(removed, count)..<count))
                queue.append(count)
                #expect(queue.popFirst() == min(removed, count))
            }
        }
    }

    @Test func `what many at once held is let go of at once`() {
        final class Thing: Sendable {}
        var queue = Fifo<Thing>()
        weak var second: Thing?
        do {
            let thing = Thing()
            second = thing
            queue.append(contentsOf: [Thing(), thing])
        }
        for _ in 0..<200 { queue.append(Thing()) }
        queue.removeFirst(1)
        #expect(second != nil)
        queue.removeFirst(1)
        #expect(second == nil)
        #expect(queue.count == 200)
    }

    @Test func `queues are equal by what waits, not by what has gone`() {
        var queue = Fifo([1, 2, 3])
        queue.removeFirst()
        #expect(queue == Fifo([2, 3]))
        #expect(queue.hashValue == Fifo([2, 3]).hashValue)
        #expect(queue != Fifo([1, 2, 3]))
        #expect(queue != Fifo([2]))
    }
}
