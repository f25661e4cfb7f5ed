internal import CShims
package import CUV
internal import Dispatch
internal import Glibc
import Synchronization

/// One libuv loop on one thread, which is also the executor of the actors pinned to it.
///
/// An actor is pinned by keeping a strong reference to its loop and returning ``asUnownedSerialExecutor()`` from its
/// `unownedExecutor` for life (SE-0392). Callbacks of libuv arrive on the loop without a task; they enter such an actor
/// with its `assumeIsolated`, which works because the loop answers for its thread (SE-0424, SE-0471).
///
/// A turn is: timers, the I/O that the last poll found, then jobs, then the ``TurnPhase`` hooks. Input is read, and jobs
/// run, for ``shareNanoseconds`` each, of jobs at most ``jobsPerTurn``; the rest follow in the next turn, after a poll that
/// does not block, so that jobs cannot starve I/O and timers, and no turn is long because much came at once. Nothing that
/// runs on a loop may block.
///
/// Life: `init`, ``start()``, ``shutdown(_:)``, ``join()``. No job is ever dropped: what is enqueued before the loop
/// has ended runs, what comes later stops the process, because a lost job is a task that never ends.
///
/// Invariant behind `@unchecked Sendable`: the stored variables and all libuv state belong to the thread of the loop
/// (before ``start()`` to the thread that initialises it); other threads touch only `inbox`, `wakeup`,
/// `hasStarted` and `end`.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    /// The most jobs that one turn runs.
    public static let jobsPerTurn = 4_096

    /// For so long a turn does work of one kind of which there may be much: reading, jobs, a room's calls, writing. The
    /// rest goes on in the next turn. A turn has several of them, and is to stay below 10 ms.
    public static let shareNanoseconds: UInt64 = 1_500_000

    /// The name, for people; its first 15 bytes name the thread.
    public let name: String

    /// The libuv loop, for the targets that open handles on it.
    package let uvLoop: UnsafeMutablePointer<uv_loop_t>

    /// The one buffer into which every socket of the loop is read. Its content is valid during one callback.
    package let readBuffer: UnsafeMutableRawBufferPointer

    /// For what belongs to handles and is walked through without them.
    package let cells = CellPool()

    private let inbox = JobInbox()
    /// An eventfd that the loop watches. Other threads end its poll with it. It replaces `uv_async_t`: with that, a woken
    /// loop spins until the thread that woke it is back from its write (libuv before 1.45, its issue 2651). With few CPUs
    /// the loop has often just taken the CPU of that thread.
    private let wakeup: Int32
    private let wakeUpPoll: UnsafeMutablePointer<uv_poll_t>
    private let turnEnd: UnsafeMutablePointer<uv_prepare_t>
    private let stayAwake: UnsafeMutablePointer<uv_idle_t>
    /// False where `init` has failed: there is nothing to close then.
    private var isMade = false
    private let hasStarted = Atomic(false)
    private let end = Mutex(End())

    // The state of the loop's thread:
    private var batch = JobBatch()
    private var inputShare = InputShare()
    private var hooks: [[() -> Void]] = TurnPhase.allCases.map { _ in [] }
    private var isStopping = false
    /// Neither timers nor hooks run any more: the loops of a node end together.
    private(set) var isQuiet = false
    private var turnObserver: ((TurnDuration) -> Void)?
    /// When the loop last began to poll, for how long polls had waited in all until then, and the CPU used.
    private var polled: (at: UInt64, idle: UInt64, used: UInt64)?

    /// Makes a loop that does not run yet. Work may be given to it already; ``start()`` must follow.
    public init(name: String) throws(EventLoopError) {
        self.name = name
        uvLoop = .allocate(capacity: 1)
        wakeup = chatroom_make_wakeup()
        wakeUpPoll = .allocate(capacity: 1)
        turnEnd = .allocate(capacity: 1)
        stayAwake = .allocate(capacity: 1)
        readBuffer = .allocate(byteCount: 65_536, alignment: 64)
        var result = wakeup < 0 ? wakeup : uv_loop_init(uvLoop)
        if result == 0 {
            result = uv_poll_init(uvLoop, wakeUpPoll, wakeup)
            if result != 0 { uv_loop_close(uvLoop) }
        }
        // All that has been made goes with this object.
        guard result == 0 else { throw EventLoopError(uvCode: result, doing: "cannot make the event loop \(name)") }
        let identity = Unmanaged.passUnretained(self).toOpaque()
        uvLoop.pointee.data = identity
        wakeUpPoll.pointee.data = identity
        turnEnd.pointee.data = identity
        stayAwake.pointee.data = identity
        // A loop without the measure of its idle time works all the same; it then counts polls as turns.
        _ = chatroom_measure_idle_time(uvLoop)
        // These cannot fail: init only fills in, start refuses only a missing callback.
        uv_poll_start(wakeUpPoll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            let loop = Unmanaged<EventLoop>.fromOpaque(handle.unsafelyUnwrapped.pointee.data).takeUnretainedValue()
            chatroom_take_wakeup(loop.wakeup)
        }
        uv_prepare_init(uvLoop, turnEnd)
        uv_prepare_start(turnEnd) { handle in
            Unmanaged<EventLoop>.fromOpaque(handle.unsafelyUnwrapped.pointee.data).takeUnretainedValue().endTurn()
        }
        uv_idle_init(uvLoop, stayAwake)
        isMade = true
    }

    deinit {
        if isMade, !hasStarted.load(ordering: .relaxed) {
            precondition(inbox.count == 0, "event loop \(name) was given work and never started")
            closeOwnHandles()
            runToEnd()
        }
        freeMemory()
    }

    /// Starts the thread of the loop. Once. In the whole process, SIGPIPE is ignored then.
    public func start() {
        let isFirst = !hasStarted.exchange(true, ordering: .relaxed)
        precondition(isFirst, "event loop \(name) has been started before")
        chatroom_ignore_sigpipe()
        let result = chatroom_start_thread(
            name, { Unmanaged<EventLoop>.fromOpaque($0.unsafelyUnwrapped).takeRetainedValue().runThread() },
            Unmanaged.passRetained(self).toOpaque())
        precondition(result == 0, "no thread for event loop \(name): error \(-result)")
    }

    /// The loop on whose thread the caller runs; nil elsewhere.
    public static var current: EventLoop? {
        guard let identity = chatroom_current_loop() else { return nil }
        return Unmanaged<EventLoop>.fromOpaque(identity).takeUnretainedValue()
    }

    /// Whether the caller runs on the thread of the loop.
    public var isOnLoop: Bool {
        chatroom_current_loop() == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// The number of jobs that wait and have not been taken up by a turn. From any thread.
    public var waitingJobCount: Int { inbox.count }

    // MARK: - Work from any thread

    /// Runs `work` on the loop, after everything enqueued before. From any thread; never runs it at once.
    ///
    /// Stops the process if the loop has ended.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        append(.closure(work))
    }

    /// Runs `body` on the loop and returns its result. From any task.
    public func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            execute {
                do throws(Failure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// Ends the loop. From any thread, once: runs `cleanup` after the jobs enqueued so far, closes the handles that are
    /// open after it, runs what that leads to, and ends when there are neither handles nor jobs.
    ///
    /// An actor pinned to the loop that still waits for something elsewhere would come back too late and stop the
    /// process: end such tasks first.
    public func shutdown(_ cleanup: @escaping @Sendable () -> Void = {}) {
        precondition(hasStarted.load(ordering: .relaxed), "event loop \(name) is shut down before it started")
        execute { [unowned self] in
            cleanup()
            isStopping = true
        }
    }

    /// Ends loops that give each other work, and waits for their ends: first no timer and no hook of any of them runs any
    /// more, then they end. Ended one by one, the turns of one would go on and reach another that has ended.
    public static func shutdown(_ loops: [EventLoop]) async {
        for loop in loops { await loop.run { loop.isQuiet = true } }
        // A job that a loop had before it went quiet may have given work to another.
        for loop in loops { await loop.run {} }
        for loop in loops { loop.shutdown() }
        for loop in loops { await loop.joined() }
    }

    /// Waits until the loop has ended. Blocks; not on a loop and not in a task.
    @available(*, noasync, message: "use joined()")
    public func join() {
        precondition(Self.current == nil, "a loop does not wait for a loop")
        let hasEnded = DispatchSemaphore(value: 0)
        atEnd { hasEnded.signal() }
        hasEnded.wait()
    }

    /// Waits until the loop has ended.
    public func joined() async {
        await withCheckedContinuation { continuation in
            atEnd { continuation.resume() }
        }
    }

    /// Those who wait for the end of the loop's thread.
    private struct End: Sendable {
        var hasCome = false
        var waiting: [@Sendable () -> Void] = []
    }

    private func atEnd(_ work: @escaping @Sendable () -> Void) {
        let hasCome = end.withLock { end in
            if !end.hasCome { end.waiting.append(work) }
            return end.hasCome
        }
        if hasCome { work() }
    }

    // MARK: - SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        append(.task(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    public func checkIsolated() {
        precondition(isOnLoop, "not on event loop \(name)")
    }

    // MARK: - On the loop

    /// Milliseconds of a monotonic clock, read once per turn. On the loop only.
    public var nowMilliseconds: UInt64 {
        checkIsolated()
        return uv_now(uvLoop)
    }

    /// Nanoseconds of the same clock, read at once: for measuring within a turn. From any thread.
    public static var nowNanoseconds: UInt64 { uv_hrtime() }

    /// Nanoseconds of CPU that the calling thread has used, in user mode and in the system. A system call.
    public static var threadCPUNanoseconds: UInt64 { chatroom_thread_cpu_nanoseconds() }

    /// Runs `work` in this turn, or in a later one if the phases have begun or the time for jobs is over. On the loop
    /// only, like the work.
    public func executeLater(_ work: @escaping () -> Void) {
        checkIsolated()
        append(.closure(work))
    }

    /// Whether this turn still takes input; who may not take it calls ``takeInputLater(_:)``. On the loop only.
    package func takesInput() -> Bool { inputShare.take(atNanoseconds: uv_hrtime()) { Self.threadCPUNanoseconds } }

    /// Runs `resume` at the end of this turn or of a later one, in the order of the calls: then the next poll may find
    /// input for the caller again. On the loop only.
    package func takeInputLater(_ resume: @escaping () -> Void) { inputShare.wait(resume) }

    /// Registers what is to be done at the end of each turn, for the life of the loop. Hooks of one phase run in the
    /// order of their registration. On the loop only, when things start up.
    public func addTurnEnd(_ phase: TurnPhase, _ hook: @escaping () -> Void) {
        checkIsolated()
        hooks[phase.rawValue].append(hook)
    }

    /// How long a turn took, in nanoseconds.
    public struct TurnDuration: Sendable, Hashable {
        /// From the return of one poll to the beginning of the next, by the clock: so long nothing else on the loop was
        /// served, whether the thread had a CPU or not.
        public var elapsed: UInt64
        /// For which the thread had a CPU, the polls around it included.
        public var used: UInt64
    }

    /// Tells how long each turn took. Once, on the loop only.
    public func observeTurns(_ observe: @escaping (TurnDuration) -> Void) {
        checkIsolated()
        turnObserver = observe
    }

    /// Runs `work` once after a delay, then every `repeatingMilliseconds` if that is not 0. On the loop only.
    ///
    /// Both count from ``nowMilliseconds``, the time at which the turn began. A repetition that the loop was too busy
    /// to run in time is not made up for.
    @discardableResult
    public func schedule(
        afterMilliseconds delay: UInt64, repeatingMilliseconds interval: UInt64 = 0, _ work: @escaping () -> Void
    ) -> LoopTimer {
        LoopTimer(loop: self, afterMilliseconds: delay, repeatingMilliseconds: interval, work: work)
    }

    /// Runs `work` once, at the first multiple of an interval that is not before the delay is over: it falls together with
    /// what ``every(milliseconds:_:)`` runs, and wakes nobody up for itself. On the loop only.
    @discardableResult
    public func schedule(
        afterMilliseconds delay: UInt64, atMultipleOf interval: UInt64, _ work: @escaping () -> Void
    ) -> LoopTimer {
        schedule(afterMilliseconds: Self.delay(delay, toMultipleOf: interval, after: nowMilliseconds), work)
    }

    /// Runs `work` at every multiple of an interval, until it is cancelled; what all loops of the process run so falls
    /// together, so that an idle process wakes up seldom. On the loop only.
    ///
    /// The multiples are counted from a moment that each process chooses by chance, so that several on one machine do
    /// not do everything at the same time. A repetition that the loop was too busy to run in time is not made up for.
    @discardableResult
    public func every(milliseconds interval: UInt64, _ work: @escaping () -> Void) -> LoopTimer {
        LoopTimer(loop: self, everyMilliseconds: interval, work: work)
    }

    /// The time from a loop time until the next multiple of an interval.
    static func untilMultiple(of interval: UInt64, after now: UInt64) -> UInt64 {
        interval - (now + phase) % interval
    }

    /// The time from a loop time until the first multiple of an interval that is not before a delay is over.
    static func delay(_ delay: UInt64, toMultipleOf interval: UInt64, after now: UInt64) -> UInt64 {
        delay + untilMultiple(of: interval, after: now + delay) % interval
    }

    /// The same for all intervals, so that what is done every 100 ms and every second falls together.
    private static let phase = UInt64.random(in: 0..<60_000)

    // MARK: - The turn

    private func append(_ job: LoopJob) {
        switch inbox.append(job, isOnLoop: isOnLoop) {
        case .done: break
        case .mustWake:
            chatroom_wake(wakeup)
            inbox.wakeDelivered()
        case .refused: preconditionFailure("work for event loop \(name), which has ended")
        }
    }

    /// Runs just before each poll. Work enqueued by another thread is only ever looked at here.
    private func endTurn() {
        batch.run(
            from: inbox, atMost: Self.jobsPerTurn, untilNanoseconds: uv_hrtime() + Self.shareNanoseconds,
            on: asUnownedSerialExecutor())
        if !isQuiet {
            for phase in hooks {
                for hook in phase { hook() }
            }
        }
        for resume in inputShare.endTurn(areJobsLeft: !batch.isFinished || inbox.count > 0) { resume() }
        if isStopping, finishStopping() { return }
        sendTurn()
        if batch.isFinished, !inputShare.isAwaited, inbox.armIfEmpty() {
            uv_idle_stop(stayAwake)
        } else {
            // An active idle handle makes the poll return at once.
            uv_idle_start(stayAwake) { _ in }
        }
    }

    private func sendTurn() {
        guard let turnObserver else { return }
        let (now, idle, used) = (uv_hrtime(), uv_metrics_idle_time(uvLoop), Self.threadCPUNanoseconds)
        if let polled {
            turnObserver(
                TurnDuration(elapsed: now - polled.at - (idle - polled.idle), used: used - min(used, polled.used)))
        }
        polled = (now, idle, used)
    }

    /// Closes what is still open on a loop that is to end. Returns whether this was its last turn.
    private func finishStopping() -> Bool {
        var othersCount = 0
        withUnsafeMutablePointer(to: &othersCount) { count in
            uv_walk(
                uvLoop,
                { handle, count in
                    let handle = handle.unsafelyUnwrapped
                    guard let data = handle.pointee.data, data != handle.pointee.loop.pointee.data else { return }
                    count.unsafelyUnwrapped.assumingMemoryBound(to: Int.self).pointee += 1
                    if uv_is_closing(handle) == 0 {
                        Unmanaged<LoopHandle>.fromOpaque(data).takeUnretainedValue().close()
                    }
                }, count)
        }
        // Closed handles call back after this turn's poll, which does not block then; name look-ups when they are done.
        guard othersCount == 0, uvLoop.pointee.active_reqs.count == 0, batch.isFinished, inbox.closeIfEmpty()
        else { return false }
        closeOwnHandles()
        return true
    }

    // MARK: - Beginning and end of the thread

    private func runThread() {
        chatroom_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
        runToEnd()
        // The hooks hold things that hold the loop, and so does who waits.
        hooks = []
        inputShare = InputShare()
        chatroom_set_current_loop(nil)
        let waiting = end.withLock { end in
            end.hasCome = true
            defer { end.waiting = [] }
            return end.waiting
        }
        for work in waiting { work() }
    }

    private func runToEnd() {
        uv_run(uvLoop, UV_RUN_DEFAULT)
        let result = uv_loop_close(uvLoop)
        precondition(result == 0, "event loop \(name) ended with open handles")
    }

    private func closeOwnHandles() {
        uv_close(UnsafeMutableRawPointer(wakeUpPoll).assumingMemoryBound(to: uv_handle_t.self), nil)
        uv_close(UnsafeMutableRawPointer(turnEnd).assumingMemoryBound(to: uv_handle_t.self), nil)
        uv_close(UnsafeMutableRawPointer(stayAwake).assumingMemoryBound(to: uv_handle_t.self), nil)
    }

    private func freeMemory() {
        uvLoop.deallocate()
        wakeUpPoll.deallocate()
        if wakeup >= 0 { Glibc.close(wakeup) }
        turnEnd.deallocate()
        stayAwake.deallocate()
        readBuffer.deallocate()
    }
}
