import Synchronization

/// Lets the store look through its content again and again.
final class MediaKeeper: Sendable {
    private let store: any ContentStore
    private let pause: Duration
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter pause: between two rounds.
    init(_ store: any ContentStore, pause: Duration = .seconds(20)) {
        self.store = store
        self.pause = pause
    }

    func start() {
        let work = Task { [store, pause] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: pause) } catch { return }
                await store.keep()
            }
        }
        task.withLock { $0 = work }
    }

    func stop() async {
        let work = task.withLock { $0 }
        work?.cancel()
        await work?.value
    }
}
