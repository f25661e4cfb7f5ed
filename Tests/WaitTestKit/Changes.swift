import Synchronization

/// The longest wait for any one event. Generous, for slow machines too: it only ends tests that would hang.
public let waitLimit = Duration.seconds(120)

/// What a test waited for has not come within its limit.
public struct WaitedTooLong: Error, CustomStringConvertible {
    /// What did not come.
    public var what: String
    /// How long it was waited for.
    public var limit: Duration

    public var description: String { "waited \(limit) in vain for \(what)" }
}

/// Wakes tests that wait until something that they can look at has changed. Every wait has a deadline: what never comes
/// fails one test with a sentence and does not hang the run. Swift Testing's time limits only cancel, which does not end
/// a wait for a callback.
public final class Changes: Sendable {
    private struct State {
        var count: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Something has changed: wakes everyone who waits.
    public func note() {
        let due = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in due { waiter.resume() }
    }

    /// Waits until `check` finds something: asks now, and after each change.
    /// - Parameter what: completes the sentence "waited in vain for".
    /// - Throws: ``WaitedTooLong`` after `limit`, `CancellationError`, and what `check` throws.
    public func wait<Value: Sendable>(
        for what: @autoclosure () -> String, limit: Duration = waitLimit, _ check: () async throws -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        while true {
            // Counted before the look, so that a change meanwhile is not missed.
            let seen = state.withLock { $0.count }
            if let value = try await check() { return value }
            guard ContinuousClock.now < deadline else { throw WaitedTooLong(what: what(), limit: limit) }
            try Task.checkCancellation()
            await next(after: seen, before: deadline)
        }
    }

    /// Returns when there has been a change after `seen` ones, at the deadline, or when the task is cancelled.
    private func next(after seen: UInt64, before deadline: ContinuousClock.Instant) async {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let alarm = Task {
            // Throws when the wait has ended before.
            try await Task.sleep(until: deadline, clock: .continuous)
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.count == seen, ContinuousClock.now < deadline, !Task.isCancelled else { return false }
                    state.waiters[waiter] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
        alarm.cancel()
    }
}

/// Waits for the result of `body`, but not longer than `limit`. A body that does not end goes on behind the test's back:
/// nothing can stop who waits for a callback.
/// - Parameter what: completes the sentence "waited in vain for".
public func withDeadline<Value: Sendable>(
    _ what: String, limit: Duration = waitLimit, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let changes = Changes()
    let result = Mutex<Result<Value, any Error>?>(nil)
    let keep: @Sendable (Result<Value, any Error>) -> Void = { end in result.withLock { $0 = end } }
    let task = Task {
        do { keep(.success(try await body())) } catch { keep(.failure(error)) }
        changes.note()
    }
    // Taken out, and the task awaited, which has nothing left to do: the caller may look whether anybody else still
    // holds the value.
    let end: Result<Value, any Error> = try await changes.wait(for: what, limit: limit) {
        result.withLock { result in
            defer { result = nil }
            return result
        }
    }
    await task.value
    return try end.get()
}

/// Asks again until it is so, ten milliseconds apart; for what tells nobody that it has changed.
/// - Throws: ``WaitedTooLong`` after ``waitLimit``, and what `isSo` throws.
public func poll(_ what: String, _ isSo: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + waitLimit
    while try await !isSo() {
        guard ContinuousClock.now < deadline else { throw WaitedTooLong(what: what, limit: waitLimit) }
        try await Task.sleep(for: .milliseconds(10))
    }
}
