import ChatModel
import Synchronization

/// The body of a request on its way from its connection, on a loop, to the task that answers.
///
/// Nothing of it is read from the socket before the task asks (what came together with the head is here already), and
/// not more than ``bufferedBytesMax`` ahead of it.
final class APIRequestBody: Sendable {
    /// So much waits here at most, and what was read from the socket in one go.
    static let bufferedBytesMax = 256 << 10

    private struct State {
        /// The bytes that have come and were not asked for yet: one run of bytes, however small the pieces are in which
        /// it came.
        var bytes: [UInt8] = []
        var isWhole = false
        var isBroken = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    /// The length in the head; `nil` when the body is chunked.
    let declaredBytes: Int?
    private let state: Mutex<State>
    /// Tells the connection that more is wanted. From the task.
    private let ask: @Sendable () -> Void

    init(declaredBytes: Int?, isWhole: Bool, ask: @escaping @Sendable () -> Void) {
        self.declaredBytes = declaredBytes
        self.ask = ask
        state = Mutex(State(isWhole: isWhole))
    }

    // MARK: The connection's side

    /// Whether it takes more now.
    var hasRoom: Bool { state.withLock { $0.bytes.count < Self.bufferedBytesMax } }

    func push(_ piece: ArraySlice<UInt8>) { change { $0.bytes += piece } }

    func finish() { change { $0.isWhole = true } }

    /// The connection is no more.
    func fail() { change { $0.isBroken = true } }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state in
            body(&state)
            return exchange(&state.waiter, with: nil)
        }
        waiter?.resume()
    }

    // MARK: The task's side

    /// The next piece; `nil` at the end. One caller at a time.
    /// - Throws: 400 when the connection ends before it.
    func next() async throws(ChatError) -> [UInt8]? {
        while true {
            enum Found {
                case piece([UInt8]), end, broken, nothing
            }
            let found = state.withLock { state -> Found in
                if !state.bytes.isEmpty { return .piece(exchange(&state.bytes, with: [])) }
                return state.isWhole ? .end : state.isBroken ? .broken : .nothing
            }
            switch found {
            case .piece(let piece): return piece
            case .end: return nil
            case .broken: throw ChatError(.malformed, "the body is not complete")
            case .nothing:
                ask()
                await withCheckedContinuation { continuation in
                    let isHere = state.withLock { state in
                        guard state.bytes.isEmpty, !state.isWhole, !state.isBroken else { return true }
                        state.waiter = continuation
                        return false
                    }
                    if isHere { continuation.resume() }
                }
            }
        }
    }

    /// The whole body.
    /// - Throws: 413 when it is over the bound, without having read it when it says so itself; 400 for a broken one.
    func whole(bytesMax: Int) async throws(ChatError) -> [UInt8] {
        guard (declaredBytes ?? 0) <= bytesMax else { throw Self.tooLarge(bytesMax) }
        var bytes: [UInt8] = []
        while let piece = try await next() {
            guard bytes.count + piece.count <= bytesMax else { throw Self.tooLarge(bytesMax) }
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
        }
        return bytes
    }

    private static func tooLarge(_ bytesMax: Int) -> ChatError {
        ChatError(.tooLarge, "the body is over \(bytesMax) bytes")
    }
}
