internal import CUV

/// Tells when a socket that something else owns can be read or written: for libraries that do their own input and output
/// and leave the waiting to a loop.
///
/// The loop keeps an open one alive. The socket may be closed as soon as ``close()`` has returned, not before.
public final class SocketPoll: LoopHandle {
    /// For what to wait, or what has come.
    public struct Readiness: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let readable = Readiness(rawValue: 1)
        public static let writable = Readiness(rawValue: 2)
        /// The system cannot watch it any more. Never waited for.
        public static let failed = Readiness(rawValue: 4)
    }

    private let handle: UnsafeMutablePointer<uv_poll_t>
    private var notify: ((Readiness) -> Void)?

    /// nil where the system cannot watch the descriptor, or the loop does so already. It waits for nothing yet.
    public init?(loop: EventLoop, descriptor: Int32, notify: @escaping (Readiness) -> Void) {
        handle = .allocate(capacity: 1)
        super.init(loop: loop)
        guard uv_poll_init(loop.uvLoop, handle, descriptor) == 0 else { return nil }
        self.notify = notify
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    deinit { handle.deallocate() }

    /// Waits for this from now on, as long as it is open. On its loop only.
    /// - Returns: false where the system refuses it.
    @discardableResult
    public func wait(for readiness: Readiness) -> Bool {
        precondition(loop.isOnLoop, "a poll is used on its loop")
        guard notify != nil else { return false }
        var events: UInt32 = 0
        if readiness.contains(.readable) { events |= UInt32(UV_READABLE.rawValue) }
        if readiness.contains(.writable) { events |= UInt32(UV_WRITABLE.rawValue) }
        guard events != 0 else { return uv_poll_stop(handle) == 0 }
        let result = uv_poll_start(handle, Int32(events)) { handle, status, events in
            let poll = Unmanaged<SocketPoll>.fromOpaque(handle.unsafelyUnwrapped.pointee.data).takeUnretainedValue()
            poll.didPoll(status, UInt32(bitPattern: events))
        }
        return result == 0
    }

    private func didPoll(_ status: Int32, _ events: UInt32) {
        var readiness: Readiness = status < 0 ? .failed : []
        if events & UInt32(UV_READABLE.rawValue) != 0 { readiness.insert(.readable) }
        if events & UInt32(UV_WRITABLE.rawValue) != 0 { readiness.insert(.writable) }
        notify?(readiness)
    }

    override public func close() {
        precondition(loop.isOnLoop, "a poll is used on its loop")
        guard notify != nil else { return }
        notify = nil
        let closing = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        uv_close(closing) { Unmanaged<SocketPoll>.fromOpaque($0.unsafelyUnwrapped.pointee.data).release() }
    }
}
