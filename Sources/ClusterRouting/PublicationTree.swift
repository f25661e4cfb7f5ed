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
        var relays: Set<NodeID> = []
        /// Those of a version that is to be told with each answer what was missed, and what that is.
        var elders: [NodeID: [RoomID: [Int: [UInt64: MissedMessages]]]] = [:]
        /// Those of a version that knows no `RoomOutput.takenOver`.
        var withoutTakenOver: Set<NodeID> = []
        /// Whether there is a task that lets go of old bodies.
        var isForgetting = false
    }

    private let state: Mutex<State>
    private let begin = ContinuousClock.now

    init(_ node: NodeID) {
        state = Mutex(State(bodies: SharedBodies(origin: node, life: .random(in: 0 ... .max))))
    }

    /// A node is reached, over a link of that version.
    func reached(_ node: NodeID, version: UInt32) {
        state.withLock { state in
            if version >= LinkHello.relayVersion { state.relays.insert(node) }
            if version < LinkHello.missedVersion { state.elders[node] = [:] }
            if version < LinkHello.takenOverVersion { state.withoutTakenOver.insert(node) }
        }
    }

    func lost(_ node: NodeID) {
        state.withLock { state in
            state.relays.remove(node)
            state.elders[node] = nil
            state.withoutTakenOver.remove(node)
        }
    }

    /// The turn as each node understands it.
    func understood(_ turn: [NodeID: [NodePublication]]) -> [NodeID: [NodePublication]] {
        state.withLock { state in
            guard !state.elders.isEmpty || !state.withoutTakenOver.isEmpty else { return turn }
            var turn = turn
            for node in state.withoutTakenOver { turn[node] = turn[node]?.map(\.withoutTakenOver) }
            for (node, publications) in turn {
                guard var heard = state.elders[node] else { continue }
                turn[node] = publications.map { $0.withMissedInAnswers(&heard) }
                state.elders[node] = heard
            }
            return turn
        }
    }

    /// The messages of a turn for each node, in order.
    func messages(of turn: [NodeID: [NodePublication]]) -> [(node: NodeID, messages: [NodeMessage])] {
        let (messages, forgetsFirst) = state.withLock { state in
            let relays = state.relays
            let messages = state.bodies.messages(of: turn, at: now) { relays.contains($0) }
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
