import ChatModel
import EventLoop
import NodeLinkCore
import Relay
import RoomProtocol
import Synchronization

/// Publications of this node's rooms to more nodes than it sends the bytes to itself: drives `SharedBodies`, for all
/// room loops.
final class PublicationTree: Sendable {
    private struct State {
        var bodies: SharedBodies
        /// Those that take bodies from others.
        var reached: Set<NodeID> = []
        /// Whether there is a task that lets go of old bodies.
        var isForgetting = false
    }

    private let state: Mutex<State>
    private let begin = ContinuousClock.now

    init(_ node: NodeID) {
        state = Mutex(State(bodies: SharedBodies(origin: node, life: .random(in: 0 ... .max))))
    }

    func reached(_ node: NodeID) { state.withLock { _ = $0.reached.insert(node) } }

    func onNodeLost(_ node: NodeID) { state.withLock { _ = $0.reached.remove(node) } }

    func reaches(_ node: NodeID) -> Bool { state.withLock { $0.reached.contains(node) } }

    /// The messages of a turn for each node, in order.
    func messages(of turn: [NodeID: [NodePublication]]) -> [(node: NodeID, messages: [NodeMessage])] {
        let (messages, forgetsFirst) = state.withLock { state in
            let reached = state.reached
            let messages = state.bodies.messages(of: turn, at: now) { reached.contains($0) }
            let forgetsFirst = !state.isForgetting && state.bodies.nextForget != nil
            if forgetsFirst { state.isForgetting = true }
            return (messages, forgetsFirst)
        }
        if forgetsFirst { Task { [weak self] in await self?.forget() } }
        return messages
    }

    /// The answers to a node that lacks these bodies.
    func answers(to request: BodyNames) -> [NodeMessage] { state.withLock { $0.bodies.answers(to: request) } }

    private var now: UInt64 { (ContinuousClock.now - begin).wholeMilliseconds }

    /// Lets go of old bodies until none is left.
    private func forget() async {
        while let next = state.withLock({ state -> UInt64? in
            state.bodies.forget(at: now)
            if state.bodies.nextForget == nil { state.isForgetting = false }
            return state.bodies.nextForget
        }) {
            // At most once a second, however many there are.
            let pause = max(1_000, next - min(next, now))
            try? await Task.sleep(for: .milliseconds(pause))
        }
    }
}
