import ChatModel
import RoomProtocol
import Synchronization

/// A question that has brought nothing.
package struct QuestionFailure: Error {
    package var error: ChatError
    package var fate: Fate

    package enum Fate: Sendable {
        /// The node that was asked has said so.
        case answered
        /// The node may have done what it was asked, or may do it yet.
        case unknown
        /// The question has not left this node.
        case unsent
    }

    init(_ error: ChatError, _ fate: Fate) { (self.error, self.fate) = (error, fate) }
}

/// Questions to other nodes that wait for their answers.
package final class NodeQuestions: Sendable {
    /// How long an answer may take.
    static func limit(of question: NodeQuestion) -> Duration {
        switch question {
        // It copies all that the node leads.
        case .backup: .seconds(4 * 3600)
        // A session waits for its place; without an answer it gets it anyway.
        case .mediaUses: .seconds(2)
        // All nodes are asked at once: one that stands still is named as missing.
        case .status, .figures, .roomCount, .shards, .lanes, .sessions, .sessionPage, .slowSessions, .endSessions,
            .endSession, .direct, .broadcast, .reach:
            .seconds(2)
        // A session that is handed over later than this is lost. Mostly the link to a node that hangs has ended before,
        // and with it the question.
        default: .seconds(10)
        }
    }

    /// Questions that may wait; a further one fails with 503.
    private static let openMax = 10_000

    private struct Open {
        var node: NodeID
        var continuation: CheckedContinuation<Result<NodeAnswer, QuestionFailure>, Never>
        /// Ends the wait; nil until it has begun.
        var timer: Task<Void, Never>?

        func end(_ result: Result<NodeAnswer, QuestionFailure>) {
            timer?.cancel()
            continuation.resume(returning: result)
        }
    }

    private struct State {
        var next: UInt64 = 0
        var open: [UInt64: Open] = [:]
    }

    private let state = Mutex(State())

    /// Asks by `send`, and returns when the answer is here, the node is lost, or too much time has passed.
    func ask(
        _ question: NodeQuestion, _ node: NodeID, send: (NodeMessage) -> Void
    ) async throws(QuestionFailure) -> NodeAnswer {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<NodeAnswer, QuestionFailure>, Never>) in
            let id: UInt64? = state.withLock { state in
                guard state.open.count < Self.openMax else { return nil }
                state.next += 1
                state.open[state.next] = Open(node: node, continuation: continuation)
                return state.next
            }
            guard let id else {
                return continuation.resume(
                    returning: .failure(
                        QuestionFailure(
                            ChatError(.unavailable, "too many questions wait", retryAfterMs: 1000), .unsent)))
            }
            send(.question(id: id, question))
            let timer = Task { [weak self] in
                do {
                    try await Task.sleep(for: Self.limit(of: question))
                } catch {
                    return
                }
                self?.take(id)?.end(Self.unanswered("\(node) does not answer", retryAfterMs: 1000))
            }
            state.withLock { state in
                // It may have been answered already.
                if state.open[id] != nil { state.open[id]?.timer = timer } else { timer.cancel() }
            }
        }
        return try result.get()
    }

    /// A node has answered. Returns whether anybody still waited for that.
    /// - Parameter node: who answers; another one than was asked is not heard. nil: the one that was asked.
    @discardableResult
    func end(_ id: UInt64, of node: NodeID? = nil, _ result: Result<NodeAnswer, ChatError>) -> Bool {
        guard let open = take(id, of: node) else { return false }
        open.end(result.mapError { QuestionFailure($0, .answered) })
        return true
    }

    private func take(_ id: UInt64, of node: NodeID? = nil) -> Open? {
        state.withLock { state in
            guard let node, state.open[id]?.node != node else { return state.open.removeValue(forKey: id) }
            return nil
        }
    }

    private static func unanswered(_ reason: String, retryAfterMs: Int64) -> Result<NodeAnswer, QuestionFailure> {
        .failure(QuestionFailure(ChatError(.unavailable, reason, retryAfterMs: retryAfterMs), .unknown))
    }

    /// This node stops: nobody may wait any more when its loops end.
    package func endAll() {
        let all = state.withLock { state in
            defer { state.open = [:] }
            return state.open.values
        }
        for open in all { open.end(Self.unanswered("this node stops", retryAfterMs: 500)) }
    }

    /// The node can't be reached: whether it has done what it was asked is not known.
    /// - Returns: whether anybody waited for it.
    @discardableResult
    func onNodeLost(_ node: NodeID) -> Bool {
        let lost = state.withLock { state in
            let lost = state.open.filter { $0.value.node == node }
            for id in lost.keys { state.open[id] = nil }
            return lost
        }
        for open in lost.values {
            open.end(Self.unanswered("\(node) can't be reached", retryAfterMs: 500))
        }
        return !lost.isEmpty
    }
}
