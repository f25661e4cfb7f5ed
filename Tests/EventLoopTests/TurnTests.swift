import EventLoop
import Testing

@Suite struct TurnTests {
    @Test func `the phases run in their order after the jobs of the turn, whatever the order of registration`()
        async throws
    {
        let journal = Journal<String>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    var isDone = false
                    for phase in TurnPhase.allCases.reversed() {
                        loop.addTurnEnd(phase) {
                            guard !isDone else { return }
                            journal.append("\(phase)")
                            if phase == .flush {
                                isDone = true
                                continuation.resume()
                            }
                        }
                    }
                    loop.addTurnEnd(.propose) { if !isDone { journal.append("propose again") } }
                    journal.append("job")
                    loop.executeLater {
                        journal.append("job of the job")
                    }
                }
            }
        }
        #expect(journal.entries == ["job", "job of the job", "route", "propose", "propose again", "publish", "flush"])
    }

    @Test func `how long each turn took is told`() async throws {
        let worked: UInt64 = 20_000_000
        let told = Journal<EventLoop.TurnDuration>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    loop.observeTurns { told.append($0) }
                    loop.schedule(afterMilliseconds: 1) {
                        let began = EventLoop.threadCPUNanoseconds
                        while EventLoop.threadCPUNanoseconds < began + worked {}
                        loop.schedule(afterMilliseconds: 1) { continuation.resume() }
                    }
                }
            }
        }
        let longest = told.entries.max { $0.used < $1.used }
        #expect(longest?.used ?? 0 >= worked)
        #expect(longest?.elapsed ?? 0 >= worked)
    }

    @Test func `a job that a hook enqueues does not wait for an event`() async throws {
        try await withLoop { loop in
            // Each step is enqueued in the phases of a turn; were the loop to sleep after one, nothing would wake it.
            await withCheckedContinuation { continuation in
                loop.execute {
                    var steps = 0
                    var isEnqueued = false
                    loop.addTurnEnd(.flush) {
                        guard steps < 100, !isEnqueued else { return }
                        isEnqueued = true
                        loop.executeLater {
                            isEnqueued = false
                            steps += 1
                            if steps == 100 { continuation.resume() }
                        }
                    }
                }
            }
        }
    }

    @Test func `a turn runs no more than its share of jobs`() async throws {
        let journal = Journal<Int>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    var jobsInTurn = 1
                    loop.addTurnEnd(.propose) {
                        journal.append(jobsInTurn)
                        jobsInTurn = 0
                    }
                    for number in 1...10_000 {
                        loop.executeLater {
                            jobsInTurn += 1
                            if number == 10_000 { continuation.resume() }
                        }
                    }
                }
            }
        }
        let counts = journal.entries
        #expect(counts.allSatisfy { $0 <= EventLoop.jobsPerTurn })
        #expect(counts.reduce(0, +) >= 10_001)
        #expect(counts.count >= 3)
    }

    @Test func `a turn runs jobs for its share of time, and at least one`() async throws {
        let journal = Journal<Int>()
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    var jobsInTurn = 1
                    loop.addTurnEnd(.propose) {
                        journal.append(jobsInTurn)
                        jobsInTurn = 0
                    }
                    for number in 1...5 {
                        loop.executeLater {
                            jobsInTurn += 1
                            let began = EventLoop.nowNanoseconds
                            while EventLoop.nowNanoseconds < began + EventLoop.shareNanoseconds {}
                            if number == 5 { continuation.resume() }
                        }
                    }
                }
            }
        }
        // One may be together with the job that made them all.
        #expect(journal.entries.allSatisfy { $0 <= 2 })
        #expect(journal.entries.reduce(0, +) == 6)
    }

    @Test func `jobs that enqueue themselves for ever do not starve a timer`() async throws {
        try await withLoop { loop in
            await withCheckedContinuation { continuation in
                loop.execute {
                    var isFired = false
                    func again() {
                        if !isFired { loop.executeLater(again) }
                    }
                    again()
                    loop.schedule(afterMilliseconds: 1) {
                        isFired = true
                        continuation.resume()
                    }
                }
            }
        }
    }
}
