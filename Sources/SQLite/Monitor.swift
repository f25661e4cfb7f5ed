public import Glibc

/// A value behind a lock, with a way to wait for it to change: the meeting point of a storage thread and its callers.
///
/// Never call out of the library from inside these closures.
///
/// It is inlinable: other modules would run its generic form, which looks up its types in each call.
public final class Monitor<State: Sendable>: @unchecked Sendable {
    // Sendable because `state` is only touched between lock and unlock, and because the two C objects, which must not
    // move, stay where they were allocated.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>
    @usableFromInline var state: State

    public init(_ initial: State) {
        state = initial
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // So that setting the wall clock neither shortens nor lengthens a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the value without waking anybody.
    @inlinable
    public func withLock<Value>(_ body: (inout State) -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Changes the value and wakes those who wait, so that they look again.
    @inlinable
    @discardableResult
    public func update<Value>(_ body: (inout State) -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Waits until `body` returns a value. It is asked at once and after every `update`.
    @inlinable
    @discardableResult
    public func wait<Value>(_ body: (inout State) -> Value?) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = body(&state) { return value }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// As `wait(_:)`, but gives up after `timeout` and returns nil.
    @inlinable
    public func wait<Value>(atMost timeout: Duration, _ body: (inout State) -> Value?) -> Value? {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, attoseconds) = timeout.components
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(clamping: min(max(seconds, 0), 1 << 30)) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = max(0, nanoseconds % 1_000_000_000)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = body(&state) { return value }
            if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT { return body(&state) }
        }
    }
}
