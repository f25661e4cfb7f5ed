import SessionCore
import Testing

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed everywhere.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

struct FanOutTests {
    /// A viewer of the naive model: it is owed every frame from the one that was next when it came.
    private struct Viewer: Equatable {
        var name: Int
        var wanted: [Int]
        var got: [Int] = []
    }

    @Test(arguments: 0..<40)
    func `every viewer gets what was appended while it was there, in order and once`(seed: Int) {
        var numbers = Numbers(state: UInt64(seed))
        var fanOut = FanOut<Int>()
        var viewers: [Viewer] = []
        var nextFrame = 0
        var nextName = 0
        var done: [Int] = []

        func give(_ frames: some Sequence<Int>, to index: Int) { viewers[index].got += frames }
        func walk(_ limit: Int) {
            let frames = fanOut.frames
            let ended = fanOut.walk(atMost: limit) { index, from in
                #expect(from < frames.count)
                give(frames[from...], to: index)
            }
            for frame in ended ?? [] {
                let lacks = viewers.first { $0.wanted.contains(frame) && !$0.got.contains(frame) }
                #expect(lacks == nil, "seed \(seed): \(frame) was let go of too early")
                done.append(frame)
            }
        }

        for _ in 0..<300 {
            switch Int.random(in: 0..<10, using: &numbers) {
            case 0...1:
                fanOut.add()
                viewers.append(Viewer(name: nextName, wanted: []))
                nextName += 1
            case 2 where !viewers.isEmpty:
                let index = Int.random(in: 0..<viewers.count, using: &numbers)
                let rest = fanOut.take(index)
                give(rest, to: index)
                #expect(viewers[index].got == viewers[index].wanted, "seed \(seed)")
                fanOut.remove(index)
                viewers.swapAt(index, viewers.count - 1)
                viewers.removeLast()
                if viewers.isEmpty { done = Array(0..<nextFrame) }
            case 3 where !viewers.isEmpty:
                // Something for one alone comes behind all that everybody was shown before.
                let index = Int.random(in: 0..<viewers.count, using: &numbers)
                give(fanOut.take(index), to: index)
                #expect(viewers[index].got == viewers[index].wanted, "seed \(seed)")
            case 4...6:
                fanOut.append(nextFrame)
                for index in viewers.indices { viewers[index].wanted.append(nextFrame) }
                if viewers.isEmpty { done.append(nextFrame) }
                nextFrame += 1
            default:
                if !fanOut.isIdle { walk(Int.random(in: 1...8, using: &numbers)) }
            }
            #expect(fanOut.count == viewers.count)
        }
        while !fanOut.isIdle { walk(3) }
        for viewer in viewers { #expect(viewer.got == viewer.wanted, "seed \(seed), viewer \(viewer.name)") }
        #expect(done == Array(0..<nextFrame), "seed \(seed)")
    }

    @Test func `who comes during a round gets only what is appended later`() {
        var fanOut = FanOut<String>()
        fanOut.add()
        fanOut.add()
        fanOut.append("before")
        var given: [String] = []
        #expect(fanOut.walk(atMost: 1) { index, _ in given.append("\(index)") } == nil)
        fanOut.add()
        #expect(fanOut.take(2).isEmpty)
        fanOut.append("after")
        #expect(Array(fanOut.take(2)) == ["after"])
        #expect(fanOut.walk(atMost: 9) { index, from in given.append("\(index) from \(from)") } == ["before"])
        #expect(given == ["1", "0 from 0"])
        #expect(fanOut.walk(atMost: 9) { index, from in given.append("\(index) from \(from)") } == ["after"])
        #expect(given == ["1", "0 from 0", "1 from 0"])
        #expect(fanOut.isIdle)
    }

    @Test func `without viewers nothing waits`() {
        var fanOut = FanOut<Int>()
        fanOut.append(1)
        #expect(fanOut.isIdle)
        fanOut.add()
        fanOut.append(2)
        fanOut.remove(0)
        #expect(fanOut.isIdle)
        fanOut.add()
        #expect(fanOut.take(0).isEmpty)
    }
}
