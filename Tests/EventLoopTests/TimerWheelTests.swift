import EventLoop
import StorageTestKit
import Testing

@Suite struct TimerWheelTests {
    /// The same as a sorted list: the obvious way.
    private struct NaiveTimers {
        var due: [Int: Int64] = [:]

        func isDue(_ key: Int, at now: Int64) -> Bool { due[key].map { $0 <= now } ?? false }

        /// What a wheel must have taken out at that time: it is late by less than a slot.
        func overdue(at now: Int64) -> [Int] {
            due.filter { $0.value + TimerWheel<Int>.slotMilliseconds <= now }.sorted { $0.value < $1.value }.map(\.key)
        }
    }

    private static func takeAll(_ wheel: inout TimerWheel<Int>, at now: Int64) -> [Int] {
        var keys: [Int] = []
        while let step = wheel.next(at: now) {
            if case .due(let key) = step { keys.append(key) }
        }
        return keys
    }

    @Test("a wheel takes out what a sorted list would, never early", arguments: SeededGenerator.seeds(40))
    func likeASortedList(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (wheel, naive) = (TimerWheel<Int>(), NaiveTimers())
        let span = TimerWheel<Int>.slotMilliseconds * Int64(TimerWheel<Int>.slotCount)
        var now = Int64(seed.isMultiple(of: 2) ? 1_700_000_000_000 : -span)
        for _ in 0..<3_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let key = Int.random(in: 0..<60, using: &random)
                let reach: Int64 = [10, 2_000, span, 5 * span][Int.random(in: 0..<4, using: &random)]
                let due = now + Int64.random(in: -1_000...reach, using: &random)
                wheel.set(key, at: due, now: now)
                // What is overdue already is taken out at the next opportunity.
                naive.due[key] = max(due, now)
            case 5:
                let key = Int.random(in: 0..<60, using: &random)
                wheel.remove(key)
                naive.due[key] = nil
            default:
                let reach: Int64 = [50, 1_000, 3 * span][Int.random(in: 0..<3, using: &random)]
                now += Int64.random(in: 0...reach, using: &random)
                for key in Self.takeAll(&wheel, at: now) {
                    #expect(naive.isDue(key, at: now), "\(key) was taken out early, or twice")
                    naive.due[key] = nil
                }
                #expect(naive.overdue(at: now).isEmpty)
            }
            #expect(wheel.count == naive.due.count)
        }
    }

    @Test("after the clock was set back nothing is early, and nothing that lies ahead is late")
    func clockSetBack() {
        var wheel = TimerWheel<Int>()
        let (hour, slot) = (Int64(3_600_000), TimerWheel<Int>.slotMilliseconds)
        for key in 0..<1_000 { wheel.set(key, at: hour + Int64(key) * 200, now: hour) }
        #expect(Self.takeAll(&wheel, at: hour) == [0])
        // Half an hour back, and all of it lies half an hour ahead.
        wheel.set(5_000, at: hour / 2 + 1_000, now: hour / 2)
        #expect(Self.takeAll(&wheel, at: hour / 2).isEmpty)
        #expect(Self.takeAll(&wheel, at: hour / 2 + 1_000 + slot) == [5_000])
        for now in stride(from: hour / 2 + 2_000, to: hour, by: 1_000) { #expect(Self.takeAll(&wheel, at: now) == []) }
        #expect(Self.takeAll(&wheel, at: hour + 999 * 200 + slot).count == 999)
        #expect(wheel.count == 0)
    }

    @Test("a step does one thing, however much is due, and a wheel that is empty is as it was made")
    func steps() {
        var wheel = TimerWheel<Int>()
        for key in 0..<100 { wheel.set(key, at: 10_000_000, now: 0) }
        var (moves, dues) = (0, 0)
        // Looked at once in a span of the wheel, each.
        while let step = wheel.next(at: 9_999_000) {
            if case .moved = step { moves += 1 } else { dues += 1 }
        }
        #expect(moves == 100 && dues == 0)
        while let step = wheel.next(at: 11_000_000) { if case .due = step { dues += 1 } }
        #expect(dues == 100 && wheel.count == 0 && wheel.next(at: .max) == nil)
    }

    @Test("times at the ends of the range are taken as they are")
    func extremes() {
        var wheel = TimerWheel<Int>()
        wheel.set(1, at: .min, now: 0)
        wheel.set(2, at: .max, now: 0)
        #expect(Self.takeAll(&wheel, at: 0) == [1])
        #expect(Self.takeAll(&wheel, at: .max - 1_000) == [])
        #expect(wheel.count == 1)
    }

    @Test("a key that is hastened moves to an earlier place, and to no later one")
    func hastens() {
        var wheel = TimerWheel<Int>()
        wheel.hasten(1, to: 60_000, now: 0)
        #expect(wheel.lies(1, notAfter: 60_000) && !wheel.lies(1, notAfter: 59_000) && !wheel.lies(2, notAfter: .max))
        wheel.hasten(1, to: 90_000, now: 0)
        #expect(wheel.lies(1, notAfter: 60_000))
        wheel.hasten(1, to: 5_000, now: 0)
        #expect(Self.takeAll(&wheel, at: 4_999) == [])
        #expect(Self.takeAll(&wheel, at: 5_000 + TimerWheel<Int>.slotMilliseconds) == [1])
        #expect(wheel.count == 0 && !wheel.lies(1, notAfter: .max))
        // Beyond the wheel's span it does not lie where it is taken out.
        wheel.hasten(2, to: 3_600_000, now: 6_000)
        #expect(wheel.lies(2, notAfter: 3_600_000) && !wheel.lies(2, notAfter: 100_000))
    }
}
