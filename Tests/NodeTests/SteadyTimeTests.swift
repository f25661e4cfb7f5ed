import Testing

@testable import Node

@Suite struct SteadyTimeTests {
    private let day: Int64 = 86_400_000

    @Test func `a clock is followed while it is adjusted little by little`() {
        let time = SteadyTime()
        var clock: Int64 = 1_000_000
        for steady in stride(from: Int64(1_000), to: 100_000, by: 500) {
            clock += 700
            #expect(time.time(of: clock, at: steady) == clock)
        }
        #expect(time.time(of: clock - 1_400, at: 100_000) == clock - 1_400, "a small step back")
    }

    @Test func `a clock that is set ahead and right again leaves no trace`() {
        let time = SteadyTime()
        #expect(time.time(of: 1_000_000, at: 1_000) == 1_000_000)
        #expect(time.time(of: 1_000_100 + 2 * day, at: 1_100) == 1_000_100)
        #expect(time.time(of: 1_015_000 + 2 * day, at: 16_000) == 1_015_000)
        #expect(time.time(of: 1_015_500, at: 16_500) == 1_015_500)
        // The next doubt has its whole time.
        #expect(time.time(of: 1_016_000 - day, at: 17_000) == 1_016_000)
        #expect(time.time(of: 1_030_000 - day, at: 31_000) == 1_030_000)
    }

    @Test func `a clock that stands where it was set is followed after a while, in both directions`() {
        for step in [day, -day] {
            let time = SteadyTime()
            #expect(time.time(of: 1_000_000, at: 1_000) == 1_000_000)
            #expect(time.time(of: 1_001_000 + step, at: 2_000) == 1_001_000)
            let end = 2_000 + SteadyTime.doubtMilliseconds
            #expect(time.time(of: 999_000 + end + step - 1, at: end - 1) == 999_000 + end - 1)
            #expect(time.time(of: 999_000 + end + step, at: end) == 999_000 + end + step)
            #expect(time.time(of: 999_000 + end + step + 1, at: end + 1) == 999_000 + end + step + 1)
        }
    }
}
