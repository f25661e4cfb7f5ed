import EventLoop
import Synchronization
import Testing

@Suite struct JobTests {
    @Test func `jobs of one thread run in the order in which they were enqueued`() async throws {
        let journal = Journal<[Int]>()
        try await withLoop { loop in
            await withTaskGroup(of: Void.self) { group in
                for producer in 0..<4 {
                    group.addTask {
                        for number in 0..<5_000 { loop.execute { journal.append([producer, number]) } }
                    }
                }
            }
        }
        let entries = journal.entries
        #expect(entries.count == 20_000)
        for producer in 0..<4 {
            #expect(entries.filter { $0[0] == producer }.map { $0[1] } == Array(0..<5_000))
        }
    }

    @Test func `a loop that sleeps is woken by each of many single jobs`() async throws {
        try await withLoop { loop in
            for number in 0..<2_000 {
                let answer = await loop.run { number }
                #expect(answer == number)
            }
        }
    }

    @Test func `work given before the start runs after it`() async throws {
        let loop = try EventLoop(name: "early")
        let journal = Journal<Bool>()
        loop.execute { [unowned loop] in journal.append(loop.isOnLoop) }
        loop.start()
        loop.shutdown()
        await loop.joined()
        #expect(journal.entries == [true])
    }

    @Test func `a pinned actor runs on its loop and loses no call of many concurrent tasks`() async throws {
        try await withLoop { loop in
            let counter = Counter(loop: loop)
            let onLoop = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        var onLoop = 0
                        for _ in 0..<200 where await counter.increment() { onLoop += 1 }
                        return onLoop
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(onLoop == 10_000)
            #expect(await counter.count == 10_000)
        }
    }

    @Test func `two loops pass a call back and forth without losing it`() async throws {
        try await withLoop("left") { left in
            try await withLoop("right") { right in
                let here = Counter(loop: left)
                let there = Counter(loop: right)
                for _ in 0..<1_000 {
                    #expect(await here.increment())
                    #expect(await there.increment())
                }
                #expect(await here.count + there.count == 2_000)
            }
        }
    }

    @Test func `everything enqueued before the shutdown runs, and what it enqueues on the loop too`() async throws {
        let loop = try EventLoop(name: "stopping")
        loop.start()
        let ran = Atomic<Int>(0)
        let counter = Counter(loop: loop)
        // Three times what one turn runs, so that the end has to wait for later turns.
        let count = 3 * EventLoop.jobsPerTurn
        for _ in 0..<count {
            loop.execute {
                ran.add(1, ordering: .relaxed)
                loop.executeLater { ran.add(1, ordering: .relaxed) }
            }
        }
        let calls = (0..<100).map { _ in Task { await counter.increment() } }
        for call in calls { #expect(await call.value) }
        loop.shutdown { ran.add(1, ordering: .relaxed) }
        await loop.joined()
        #expect(ran.load(ordering: .relaxed) == 2 * count + 1)
        #expect(loop.waitingJobCount == 0)
    }

    @Test func `shutdown ends a loop with a running timer, and releases what hooks and timers hold`() async throws {
        final class Held: Sendable {}
        weak var timerHeld: Held?
        weak var hookHeld: Held?
        try await withLoop { loop in
            let forTimer = Held()
            let forHook = Held()
            timerHeld = forTimer
            hookHeld = forHook
            await loop.run {
                loop.schedule(afterMilliseconds: 1_000_000, repeatingMilliseconds: 1_000_000) { _ = forTimer }
                loop.addTurnEnd(.flush) { _ = (forHook, loop) }
            }
            #expect(timerHeld != nil && hookHeld != nil)
        }
        #expect(timerHeld == nil)
        #expect(hookHeld == nil)
    }

    @Test func `join blocks a thread of its own until the loop has ended`() async throws {
        let loop = try EventLoop(name: "joined")
        loop.start()
        let journal = Journal<String>()
        loop.execute { journal.append("job") }
        loop.shutdown { journal.append("cleanup") }
        await withCheckedContinuation { continuation in
            joinOnThread(loop) { continuation.resume() }
        }
        #expect(journal.entries == ["job", "cleanup"])
    }

    @Test func `work after the end stops the process instead of being lost`() async {
        let result = await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "ended")
            loop.start()
            loop.shutdown()
            await loop.joined()
            loop.execute {}
        }
        #expect(wasTrapped(result))
    }

    @Test func `an error of the body comes back from run`() async throws {
        struct Refused: Error, Equatable {}
        try await withLoop { loop in
            await #expect(throws: Refused()) {
                try await loop.run { () throws(Refused) in throw Refused() }
            }
        }
    }
}
