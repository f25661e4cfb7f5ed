import SessionCore
import Testing

struct AdmissionTests {
    @Test func `a burst of one second passes, and the rest is told times that follow each other at the rate`() {
        var admission = Admission()
        for _ in 0..<10 { #expect(admission.take(ratePerSecond: 10, nowMilliseconds: 5) == true) }
        #expect(admission.take(ratePerSecond: 10, nowMilliseconds: 5) == false)
        let waits = (0..<4).map { _ in admission.wait(ratePerSecond: 10, nowMilliseconds: 5) }
        #expect(waits == [100, 200, 300, 400])
        // Who comes at its time finds a place, and nobody else does.
        #expect(admission.take(ratePerSecond: 10, nowMilliseconds: 104) == false)
        for time: Int64 in [105, 205, 305, 405] {
            #expect(admission.take(ratePerSecond: 10, nowMilliseconds: time) == true)
            #expect(admission.take(ratePerSecond: 10, nowMilliseconds: time) == false)
        }
    }

    @Test func `a storm comes back as a stream in the time that it needs`() {
        let (rate, callers, windowMilliseconds) = (5_000, 50_000, Int64(100))
        var admission = Admission()
        // Everybody comes within 100 ms, and whoever is refused comes again when it was told to.
        var due: [Int64: Int] = [:]
        for number in 0..<callers { due[Int64(number) * windowMilliseconds / Int64(callers), default: 0] += 1 }
        var (admitted, tries, lastTime) = (0, 0, Int64(0))
        var perSecond: [Int64: Int] = [:]
        while let time = due.keys.min(), let count = due.removeValue(forKey: time) {
            for _ in 0..<count {
                tries += 1
                perSecond[time / 1000, default: 0] += 1
                if admission.take(ratePerSecond: rate, nowMilliseconds: time) {
                    (admitted, lastTime) = (admitted + 1, time)
                } else {
                    due[time + admission.wait(ratePerSecond: rate, nowMilliseconds: time), default: 0] += 1
                }
            }
        }
        #expect(admitted == callers)
        // The burst at once, the rest at the rate: 9 seconds, and hardly anybody asks more than twice.
        #expect(lastTime <= 9_500)
        #expect(tries <= 2 * callers)
        #expect(perSecond.filter { $0.key > 0 }.values.allSatisfy { $0 <= rate + 1 })
    }

    @Test func `no wait is longer than the bound, and the times then begin anew`() {
        var admission = Admission()
        #expect(admission.take(ratePerSecond: 1, nowMilliseconds: 0) == true)
        let waits = (0..<200).map { _ in admission.wait(ratePerSecond: 1, nowMilliseconds: 0) }
        #expect(waits.max() == Admission.waitMillisecondsMax)
        #expect(waits.prefix(3) == [1000, 2000, 3000])
        #expect(waits[60...62] == [1000, 2000, 3000])
    }

    @Test func `another rate holds at once, and a clock that goes back makes nobody wait for it`() {
        var admission = Admission()
        for _ in 0..<2 { #expect(admission.take(ratePerSecond: 2, nowMilliseconds: 1_000_000) == true) }
        #expect(admission.take(ratePerSecond: 2, nowMilliseconds: 1_000_000) == false)
        // Nothing is known of that time: a whole burst is there.
        for _ in 0..<2 { #expect(admission.take(ratePerSecond: 2, nowMilliseconds: 10) == true) }
        #expect(admission.take(ratePerSecond: 2, nowMilliseconds: 10) == false)
        #expect(admission.wait(ratePerSecond: 2, nowMilliseconds: 10) <= 1000)
        #expect(admission.take(ratePerSecond: 2, nowMilliseconds: 1010) == true)
        #expect(admission.take(ratePerSecond: 1000, nowMilliseconds: 1020) == true)
        // A rate of less than one is one.
        var slow = Admission()
        #expect(slow.take(ratePerSecond: 0, nowMilliseconds: 0) == true)
        #expect(slow.take(ratePerSecond: 0, nowMilliseconds: 999) == false)
        #expect(slow.take(ratePerSecond: 0, nowMilliseconds: 1000) == true)
    }
}
