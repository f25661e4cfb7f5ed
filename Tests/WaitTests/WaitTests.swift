import Synchronization
import Testing
import WaitTestKit

private final class Number: Sendable {
    private let value = Mutex(0)

    func increment() { value.withLock { $0 += 1 } }
    func `is`(atLeast bound: Int) -> Bool { value.withLock { $0 >= bound } }
}

@Suite struct WaitTests {
    @Test func `what never comes fails by its deadline, with a sentence`() async throws {
        await #expect {
            try await Changes().wait(for: "a line", limit: .milliseconds(20)) { nil as Void? }
        } throws: {
            "\($0)".contains("in vain for a line")
        }
        await #expect(throws: WaitedTooLong.self) {
            try await withDeadline("a callback", limit: .milliseconds(20)) {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
    }

    @Test func `a change during the look is not missed`() async throws {
        let changes = Changes()
        let looks = Mutex(0)
        let found = try await changes.wait(for: "the second look") {
            let count = looks.withLock {
                $0 += 1
                return $0
            }
            // Were this one missed, nothing would come any more.
            if count == 1 { changes.note() }
            return count == 2 ? count : nil
        }
        #expect(found == 2)
    }

    @Test func `everyone who waits is woken, many times over`() async throws {
        let changes = Changes()
        let value = Number()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for goal in 1...200 {
                tasks.addTask {
                    try await changes.wait(for: "\(goal)") { value.is(atLeast: goal) ? () : nil }
                }
            }
            for _ in 1...200 {
                value.increment()
                changes.note()
                await Task.yield()
            }
            try await tasks.waitForAll()
        }
    }

    @Test func `a result and an error come through a deadline`() async throws {
        #expect(try await withDeadline("seven") { 7 } == 7)
        await #expect(throws: CancellationError.self) {
            try await withDeadline("an error") { throw CancellationError() }
        }
    }

    @Test func `when one of several that run together fails, the others are stopped and its error comes out`() async {
        let changes = Changes()
        let isStopped = Mutex(false)
        await #expect(throws: WaitedTooLong.self) {
            try await together([
                { try await changes.wait(for: "what never comes", limit: .zero) { nil as Void? } },
                { try await changes.wait(for: "the stop") { isStopped.withLock { $0 } ? () : nil } },
                // One that nobody stops is cancelled.
                { try await Changes().wait(for: "what never comes either") { nil as Void? } },
            ]) {
                isStopped.withLock { $0 = true }
                changes.note()
            }
        }
        #expect(isStopped.withLock { $0 })
    }
}
