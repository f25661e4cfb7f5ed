/// The base of what lives on a loop and holds one of its libuv handles: timers, listeners, connections.
///
/// A handle is bound to its loop's thread and therefore not `Sendable`. While its libuv handle is open, `data` of the
/// libuv handle is a retained reference to this object, so the object outlives the handle; a loop that shuts down
/// closes every handle that is still open through this class.
open class LoopHandle {
    /// The loop on whose thread alone the object may be used.
    public final let loop: EventLoop

    /// Makes the part of a handle that is common to all. On its loop only.
    package init(loop: EventLoop) {
        precondition(loop.isOnLoop, "a handle is made on its loop")
        self.loop = loop
    }

    /// Closes the libuv handle. Idempotent; on its loop only.
    open func close() {
        preconditionFailure("every kind of handle closes itself")
    }
}

@available(*, unavailable, message: "a handle belongs to the thread of its loop")
extension LoopHandle: Sendable {}
