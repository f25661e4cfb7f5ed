import Synchronization

/// The first half of a stop, in which the node still serves while others take over. Run once, whoever asks first.
final class PlannedStop: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let isReadyNoMore = Atomic(false)

    /// Whether the node has handed over what it led, and sends its clients elsewhere: it is not ready any more.
    var sendsAway: Bool { isReadyNoMore.load(ordering: .relaxed) }

    func beginSendingAway() { isReadyNoMore.store(true, ordering: .relaxed) }

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
