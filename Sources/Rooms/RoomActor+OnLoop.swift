import EventLoop

extension RoomActor {
    /// Does something with the room at once, on its loop. In place of `assumeIsolated`, and in the same way: the runtime
    /// searches for the executor of the current task and for the main thread before it asks the loop, and a message comes
    /// by here several times.
    nonisolated func onLoop<Value: Sendable, Failure: Error>(
        _ work: (isolated RoomActor) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        context.loop.checkIsolated()
        typealias Isolated = (isolated RoomActor) throws(Failure) -> Value
        typealias Plain = (RoomActor) throws(Failure) -> Value
        return try withoutActuallyEscaping(work) { (work: @escaping Isolated) throws(Failure) -> Value in
            // The two types differ in what the compiler demands of a caller, which has been checked here.
            try unsafeBitCast(work, to: Plain.self)(self)
        }
    }
}
