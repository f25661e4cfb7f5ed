import Testing

@testable import EventLoop

extension InputShare {
    /// The thread always has a CPU: its own time passes as the clock does.
    fileprivate mutating func take(atNanoseconds now: UInt64) -> Bool { take(atNanoseconds: now) { now } }
}

@Suite struct InputShareTests {
    private final class Resumed {
        var numbers: [Int] = []
    }

    @Test func `a share begins with the first input of the turn and is over after its time`() {
        var share = InputShare()
        let begin: UInt64 = 5_000_000_000
        let end = begin + InputShare.nanoseconds
        // It does not begin anew before the turn has ended.
        #expect([begin, end - 1, end, begin].map { share.take(atNanoseconds: $0) } == [true, true, false, false])
        let due = share.endTurn(areJobsLeft: false)
        #expect(due.isEmpty)
        let takesAgain = share.take(atNanoseconds: end)
        #expect(takesAgain)
    }

    @Test func `who waits goes on in order, as many at a time as a share served`() {
        var share = InputShare()
        let resumed = Resumed()
        let taken = (0...100).filter { share.take(atNanoseconds: $0 < 100 ? 0 : InputShare.nanoseconds) }
        #expect(taken.count == 100)
        for number in 0..<250 { share.wait { resumed.numbers.append(number) } }
        #expect(share.isAwaited)
        for resume in share.endTurn(areJobsLeft: false) { resume() }
        #expect(resumed.numbers == Array(0..<100))
        // Those who come later wait behind them.
        share.wait { resumed.numbers.append(250) }
        for resume in share.endTurn(areJobsLeft: false) { resume() }
        #expect(resumed.numbers == Array(0..<200))
        #expect(share.isAwaited)
        for resume in share.endTurn(areJobsLeft: false) { resume() }
        #expect(resumed.numbers == Array(0...250))
        #expect(!share.isAwaited)
        let due = share.endTurn(areJobsLeft: false)
        #expect(due.isEmpty)
    }

    @Test func `while jobs are left over a share is short`() {
        var share = InputShare()
        _ = share.endTurn(areJobsLeft: true)
        let times = [0, InputShare.shortNanoseconds - 1, InputShare.shortNanoseconds]
        #expect(times.map { share.take(atNanoseconds: $0) } == [true, true, false])
        _ = share.endTurn(areJobsLeft: false)
        #expect(times.map { share.take(atNanoseconds: $0) } == [true, true, true])
    }

    @Test func `a thread that had to wait for a CPU takes some all the same`() {
        var share = InputShare()
        let late = InputShare.lateNanosecondsMax - 1
        let times = [0] + Array(repeating: late, count: InputShare.takenMin)
        #expect(times.map { share.take(atNanoseconds: $0) { 0 } } == times.indices.map { $0 < InputShare.takenMin })
        // One that has run for the time of the share takes none, and nobody takes any much later.
        _ = share.endTurn(areJobsLeft: true)
        let used = [0, InputShare.shortNanoseconds - 1, InputShare.shortNanoseconds]
        #expect(used.map { used in share.take(atNanoseconds: used == 0 ? 0 : late) { used } } == [true, true, false])
        _ = share.endTurn(areJobsLeft: false)
        #expect([0, late + 1].map { share.take(atNanoseconds: $0) { 0 } } == [true, false])
    }

    @Test func `some go on however few a share served`() {
        var share = InputShare()
        #expect([0, InputShare.nanoseconds].map { share.take(atNanoseconds: $0) } == [true, false])
        for _ in 0..<100 { share.wait {} }
        let counts = [share.endTurn(areJobsLeft: false).count, share.endTurn(areJobsLeft: false).count]
        #expect(counts == [64, 36])
    }
}
