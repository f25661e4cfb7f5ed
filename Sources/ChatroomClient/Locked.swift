#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A value behind a lock, for systems that have no `Mutex` of `Synchronization` yet (before iOS 18).
///
/// Invariant behind `@unchecked Sendable`: `value` is touched only between lock and unlock.
final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "no lock: error \(result)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Reads and changes the value. `body` is short, and does not come back here.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
