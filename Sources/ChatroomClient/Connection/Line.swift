/// The client's end of one socket: collects what is to be sent until the core has nothing more to say, and counts what
/// the system has not taken yet. The client's actor uses it; the socket tells it what has been sent.
final class Line: Sendable {
    let socket: any ClientSocket

    private struct State {
        /// Written and not given to the socket yet. Bound: what the core has to say in one turn.
        var outbox: [[UInt8]] = []
        var outboxBytes = 0
        /// Bytes written that the system has not taken.
        var unsentBytes = 0
    }

    private let state = Locked(State())

    /// Frames that nobody waits for are dropped when this much has not left yet.
    static let unsentBytesMax = 64 << 10

    init(socket: any ClientSocket) { self.socket = socket }

    /// Whether there is room for what may be dropped.
    var takesMore: Bool { state.withLock { $0.unsentBytes < Self.unsentBytesMax } }

    func write(_ text: [UInt8]) {
        state.withLock { state in
            state.outbox.append(text)
            state.outboxBytes += text.count
            state.unsentBytes += text.count
        }
    }

    /// Gives the socket what was written.
    func flush() {
        let (texts, bytes) = state.withLock { state in
            defer { (state.outbox, state.outboxBytes) = ([], 0) }
            return (state.outbox, state.outboxBytes)
        }
        guard !texts.isEmpty else { return }
        socket.send(texts) { [self] in state.withLock { $0.unsentBytes -= bytes } }
    }
}
