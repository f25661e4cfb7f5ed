internal import Glibc
import Synchronization

/// One piece of work for a loop.
///
/// Invariant behind `@unchecked Sendable`: a closure that is not `Sendable` is enqueued only from the loop's own thread,
/// and every job runs there.
enum LoopJob: @unchecked Sendable {
    /// Taken out already.
    case done
    /// A partial task of an actor that is pinned to the loop.
    case task(UnownedJob)
    /// Work given to ``EventLoop/execute(_:)`` or ``EventLoop/executeLater(_:)``.
    case closure(() -> Void)
}

/// The jobs on their way to a loop, in the order in which they came.
///
/// It has no bound: a job that were refused would be a task that never ends. The makers of jobs bound them.
struct JobInbox: ~Copyable {
    /// The producer's next action after it has put a job in.
    enum Outcome {
        case done
        /// The loop may be asleep: wake it, then report ``JobInbox/wakeDelivered()``.
        case mustWake
        /// The loop has ended; the job was not taken.
        case refused
    }

    // Not private: Swift 6.3.1 crashes on a private type in the layout of a noncopyable one that another file stores.
    struct State {
        var jobs: [LoopJob] = []
        /// The loop is about to poll or polls: the next producer on another thread has to wake it.
        var isArmed = false
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Producers that are between putting a job in and having woken the loop.
    private let wakesUnderWay = Atomic<Int>(0)

    /// Puts a job in. `isOnLoop`: the caller is the loop itself, which looks into the inbox before it polls.
    func append(_ job: LoopJob, isOnLoop: Bool) -> Outcome {
        state.withLock { state in
            guard !state.isClosed else { return .refused }
            state.jobs.append(job)
            guard state.isArmed, !isOnLoop else { return .done }
            state.isArmed = false
            wakesUnderWay.add(1, ordering: .relaxed)
            return .mustWake
        }
    }

    /// The waking that ``append(_:isOnLoop:)`` asked for has been done.
    func wakeDelivered() {
        wakesUnderWay.subtract(1, ordering: .releasing)
    }

    /// Exchanges the waiting jobs for the empty `batch`, whose storage is used again.
    func swap(into batch: inout [LoopJob]) {
        var taken = consume batch
        taken = state.withLock { state in
            state.isArmed = false
            let jobs = state.jobs
            state.jobs = taken
            return jobs
        }
        batch = taken
    }

    /// To be asked before polling: true when nothing waits, and from then on a producer wakes the loop.
    func armIfEmpty() -> Bool {
        state.withLock { state in
            state.isArmed = state.jobs.isEmpty
            return state.isArmed
        }
    }

    /// Refuses every later job if none waits now. After that returned true, no producer touches the loop.
    func closeIfEmpty() -> Bool {
        let isClosed = state.withLock { state in
            state.isClosed = state.jobs.isEmpty
            return state.isClosed
        }
        guard isClosed else { return false }
        // A producer here is between two instructions, at most descheduled: the wait is short and happens once.
        while wakesUnderWay.load(ordering: .acquiring) != 0 { sched_yield() }
        return true
    }

    /// The number of waiting jobs.
    var count: Int {
        state.withLock { $0.jobs.count }
    }
}
