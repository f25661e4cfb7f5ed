/// Events of one socket that the client has not taken yet, in order. The socket puts in, from wherever it runs; the
/// client's actor takes out.
///
/// Bound: ``bytesMax``, and what was read together with the event that exceeded it. At the bound the socket stops
/// reading until the client has taken everything.
final class SocketMailbox: Sendable {
    static let bytesMax = 256 << 10

    private struct State {
        var events: [SocketEvent] = []
        var bytes = 0
        /// The socket does not read.
        var isFull = false
    }

    private let state = Locked(State())
    private let wake: @Sendable (SocketMailbox) -> Void

    /// - Parameter wake: called when there is something after there was nothing. It must not take at once.
    init(wake: @escaping @Sendable (SocketMailbox) -> Void) { self.wake = wake }

    /// Puts events in.
    /// - Returns: whether the socket may read on; if not, it hears of it by ``ClientSocket/readOn()``.
    @discardableResult
    func put(_ events: [SocketEvent]) -> Bool {
        guard !events.isEmpty else { return true }
        let (wasEmpty, isFull) = state.withLock { state in
            let wasEmpty = state.events.isEmpty
            state.events += events
            state.bytes += events.reduce(0) { $0 + $1.bytes }
            state.isFull = state.bytes >= Self.bytesMax
            return (wasEmpty, state.isFull)
        }
        if wasEmpty { wake(self) }
        return !isFull
    }

    /// Takes everything out.
    /// - Returns: the events, and whether the socket waits for ``ClientSocket/readOn()``.
    func takeAll() -> (events: [SocketEvent], wasFull: Bool) {
        state.withLock { state in
            let taken = (state.events, state.isFull)
            state = State()
            return taken
        }
    }
}
