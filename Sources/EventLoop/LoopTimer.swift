internal import CUV

/// A timer of a loop; made by ``EventLoop/schedule(afterMilliseconds:repeatingMilliseconds:_:)``.
///
/// The loop keeps a running timer alive. A one-shot timer ends when it fires, a repeating one when it is cancelled.
/// It releases its work when it ends.
public final class LoopTimer: LoopHandle {
    private let handle: UnsafeMutablePointer<uv_timer_t>
    private let repeats: Bool
    /// Set again for the next multiple of this, each time; 0: not.
    private let multiple: UInt64
    private var work: (() -> Void)?

    convenience init(
        loop: EventLoop, afterMilliseconds delay: UInt64, repeatingMilliseconds interval: UInt64,
        work: @escaping () -> Void
    ) {
        self.init(loop: loop, delay, repeating: interval, multiple: 0, work)
    }

    convenience init(loop: EventLoop, everyMilliseconds interval: UInt64, work: @escaping () -> Void) {
        precondition(interval > 0, "a timer repeats after some time")
        let delay = EventLoop.untilMultiple(of: interval, after: loop.nowMilliseconds)
        self.init(loop: loop, delay, repeating: 0, multiple: interval, work)
    }

    private init(
        loop: EventLoop, _ delay: UInt64, repeating interval: UInt64, multiple: UInt64, _ work: @escaping () -> Void
    ) {
        handle = .allocate(capacity: 1)
        repeats = interval > 0 || multiple > 0
        self.multiple = multiple
        self.work = work
        super.init(loop: loop)
        // Neither call can fail: the first only fills the handle in, the second refuses only a missing callback.
        uv_timer_init(loop.uvLoop, handle)
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
        start(after: delay, repeating: interval)
    }

    private func start(after delay: UInt64, repeating interval: UInt64) {
        uv_timer_start(
            handle, { Unmanaged<LoopTimer>.fromOpaque($0.unsafelyUnwrapped.pointee.data).takeUnretainedValue().fire() },
            delay, interval)
    }

    deinit {
        handle.deallocate()
    }

    /// Whether the timer can still fire. On its loop only.
    public var isScheduled: Bool {
        precondition(loop.isOnLoop, "a timer is used on its loop")
        return work != nil
    }

    /// Ends the timer: its work does not run any more. Idempotent; on its loop only.
    public func cancel() {
        close()
    }

    override public func close() {
        precondition(loop.isOnLoop, "a timer is used on its loop")
        guard work != nil else { return }
        work = nil
        let closing = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        uv_close(closing) { Unmanaged<LoopTimer>.fromOpaque($0.unsafelyUnwrapped.pointee.data).release() }
    }

    private func fire() {
        guard let work, !loop.isQuiet else { return }
        if !repeats { close() }
        if multiple > 0 {
            start(after: EventLoop.untilMultiple(of: multiple, after: loop.nowMilliseconds), repeating: 0)
        }
        work()
    }
}
