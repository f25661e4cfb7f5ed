/// A value that belongs to a loop, in a box that may be passed around.
///
/// Anyone may hold the box; its content may be touched only on the thread of the loop, which every access checks, in
/// release builds too. The last holder of the box releases the content, on whatever thread it is.
///
/// Invariant behind `@unchecked Sendable`: `content` is read and written only after `loop.isOnLoop` was found true.
public final class LoopBound<Value>: @unchecked Sendable {
    /// The loop to which the content belongs.
    public let loop: EventLoop

    @usableFromInline var content: Value

    /// Hands `value` over to the loop. From any thread; the caller keeps no reference into it.
    public init(_ value: sending Value, loop: EventLoop) {
        self.loop = loop
        content = value
    }

    /// Boxes a value that is on the loop already and may be shared with other things there. On the loop only.
    public init(onLoop value: Value, loop: EventLoop) {
        precondition(loop.isOnLoop, "only a value handed over may be boxed off its loop")
        self.loop = loop
        content = value
    }

    /// The content, where it lies: a call that changes it copies nothing. On the loop only.
    @inlinable
    public var value: Value {
        _read {
            precondition(loop.isOnLoop, "a value bound to a loop is read on that loop")
            yield content
        }
        _modify {
            precondition(loop.isOnLoop, "a value bound to a loop is written on that loop")
            yield &content
        }
    }
}
