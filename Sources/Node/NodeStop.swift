import GroupDriver
import Synchronization

/// Ends the node from within, because it has met content that its program does not understand. The first reason stays.
final class NodeStop: Sendable {
    private struct State {
        var reason: UnknownContent?
        var continuation: AsyncStream<UnknownContent>.Continuation?
    }

    private let state: Mutex<State>
    private let reasons: AsyncStream<UnknownContent>

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: UnknownContent.self)
        reasons = stream
        state = Mutex(State(continuation: continuation))
    }

    /// From any thread, any number of times.
    func stop(_ reason: UnknownContent) {
        state.withLock { state in
            guard state.reason == nil else { return }
            state.reason = reason
            state.continuation?.yield(reason)
            state.continuation?.finish()
        }
    }

    /// The reason why the node is to end; nil while there is none.
    var reason: UnknownContent? { state.withLock { $0.reason } }

    /// Returns when there is a reason, or the task is cancelled. Awaited by one task.
    func wait() async { for await _ in reasons { return } }
}

extension NodeError {
    init(_ reason: UnknownContent) { self.init(.version, reason.message) }
}
