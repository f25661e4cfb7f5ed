import EventLoop
import Testing

@Suite struct TimerTests {
    @Test func `timers fire in the order of their times, not before them`() async throws {
        let journal = Journal<String>()
        try await withLoop { loop in
            let isEarly = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                loop.execute {
                    let begin = loop.nowMilliseconds
                    loop.schedule(afterMilliseconds: 20) {
                        journal.append("late")
                        continuation.resume(returning: loop.nowMilliseconds < begin + 20)
                    }
                    loop.schedule(afterMilliseconds: 0) { journal.append("at once") }
                    loop.schedule(afterMilliseconds: 5) { journal.append("soon") }
                }
            }
            #expect(!isEarly)
        }
        #expect(journal.entries == ["at once", "soon", "late"])
    }

    @Test func `a repeating timer repeats until it cancels itself`() async throws {
        let journal = Journal<Int>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    var count = 0
                    var timer: LoopTimer?
                    timer = loop.schedule(afterMilliseconds: 0, repeatingMilliseconds: 1) {
                        count += 1
                        journal.append(count)
                        guard count == 5 else { return }
                        timer?.cancel()
                        // Were it to repeat, it would do so before this one.
                        loop.schedule(afterMilliseconds: 10) { continuation.resume() }
                    }
                }
            }
        }
        #expect(journal.entries == [1, 2, 3, 4, 5])
    }

    @Test func `timers at multiples fall together, also when they were set at different times`() async throws {
        let (fast, slow) = (Journal<UInt64>(), Journal<UInt64>())
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    let timer = loop.every(milliseconds: 10) { fast.append(loop.nowMilliseconds) }
                    loop.schedule(afterMilliseconds: 3) {
                        var count = 0
                        var other: LoopTimer?
                        other = loop.every(milliseconds: 20) {
                            slow.append(loop.nowMilliseconds)
                            count += 1
                            guard count == 5 else { return }
                            #expect(timer.isScheduled)
                            other?.cancel()
                            // In the turn of the last one, whichever of the two comes first.
                            loop.schedule(afterMilliseconds: 1) {
                                timer.cancel()
                                continuation.resume()
                            }
                        }
                    }
                }
            }
        }
        #expect(slow.entries.count == 5 && Set(slow.entries).isSubset(of: fast.entries))
        #expect(Set(slow.entries).count == 5)
    }

    @Test func `a cancelled timer does not fire, and cancelling again does nothing`() async throws {
        let journal = Journal<String>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    let cancelled = loop.schedule(afterMilliseconds: 1) { journal.append("cancelled") }
                    let kept = loop.schedule(afterMilliseconds: 2) { journal.append("kept") }
                    #expect(cancelled.isScheduled && kept.isScheduled)
                    cancelled.cancel()
                    cancelled.cancel()
                    loop.schedule(afterMilliseconds: 3) {
                        #expect(!cancelled.isScheduled && !kept.isScheduled)
                        kept.cancel()
                        continuation.resume()
                    }
                }
            }
        }
        #expect(journal.entries == ["kept"])
    }

    @Test func `the longest delay does not overflow into the past`() async throws {
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    let far = loop.schedule(afterMilliseconds: .max) { Issue.record("fired") }
                    loop.schedule(afterMilliseconds: 2) {
                        #expect(far.isScheduled)
                        continuation.resume()
                    }
                }
            }
        }
    }
}
