import EventLoop
import Synchronization
import Testing

/// Whether a process was stopped by a failed precondition, which is a signal, and not by an error of the test.
func wasTrapped(_ result: ExitTest.Result?) -> Bool {
    if case .signal = result?.exitStatus { true } else { false }
}

/// Runs `body` with a loop that has started, and ends the loop afterwards.
@discardableResult
func withLoop<Value>(_ name: String = "test", _ body: (EventLoop) async throws -> Value) async throws -> Value {
    let loop = try EventLoop(name: name)
    loop.start()
    do {
        let value = try await body(loop)
        loop.shutdown()
        await loop.joined()
        return value
    } catch {
        loop.shutdown()
        await loop.joined()
        throw error
    }
}

/// An actor pinned to a loop.
actor Counter {
    let loop: EventLoop
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Adds one; returns whether it ran on the loop's thread.
    func increment() -> Bool {
        count += 1
        return loop.isOnLoop
    }
}

/// A list that any thread appends to.
final class Journal<Entry: Sendable>: Sendable {
    private let list = Mutex<[Entry]>([])

    var entries: [Entry] { list.withLock { $0 } }

    func append(_ entry: Entry) {
        list.withLock { $0.append(entry) }
    }
}

/// Enters the actor from code that runs without a task.
func incrementAssumingIsolation(_ counter: Counter) -> Bool {
    counter.assumeIsolated { $0.increment() }
}
