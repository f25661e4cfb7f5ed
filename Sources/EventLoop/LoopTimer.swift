internal import CUV

/// A timer of a loop; made by ``EventLoop/schedule(afterMilliseconds:repeatingMilliseconds:_:)``.
///
/// The loop keeps a running timer alive. A one-shot timer ends when it fires, a repeating one when it is cancelled.
/// It releases its work when it ends.
public final class LoopTimer: LoopHandle {
    private let handle: UnsafeMutablePointer<uv_timer_t>
    private let repeats: Bool
    private var work: (() -> Void)?

    init(
        loop: EventLoop, afterMilliseconds delay: UInt64, repeatingMilliseconds interval: UInt64,
        work: @escaping () -> Void
    ) {
        handle = .allocate(capacity: 1)
        repeats = interval > 0
        self.work = work
        super.init(loop: loop)
        // Neither call can fail: the first only fills the handle in, the second refuses only a missing callback.
        uv_timer_init(loop.uvLoop, handle)
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
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
        guard let work else { return }
        if !repeats { close() }
        work()
    }
}
