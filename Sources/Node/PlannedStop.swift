import Synchronization

/// The first half of a stop, in which the node still serves while others take over. Run once, whoever asks first.
final class PlannedStop: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Whether the node has begun to stop: it is not ready any more.
    var hasBegun: Bool { task.withLock { $0 != nil } }

    /// Returns when it is done.
    func run(_ body: @escaping @Sendable () async -> Void) async {
        let running = task.withLock { task in
            let running = task ?? Task { await body() }
            task = running
            return running
        }
        await running.value
    }
}
