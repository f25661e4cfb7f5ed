import ChatModel
import Synchronization

/// Lets so many at a time through, in the order in which they come.
actor PieceGate {
    private var free: Int
    private var waiting = Fifo<CheckedContinuation<Void, Never>>()

    init(limit: Int) { free = limit }

    nonisolated func pass<Value: Sendable>(_ work: () async -> Value) async -> Value {
        await enter()
        let value = await work()
        await leave()
        return value
    }

    private func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        if let next = waiting.popFirst() { next.resume() } else { free += 1 }
    }
}

/// A gate for each node: one that is slow holds up only what is for it.
final class PieceGates: Sendable {
    private let limit: Int
    private let gates = Mutex<[NodeID: PieceGate]>([:])

    init(limit: Int) { self.limit = limit }

    /// There are as many as nodes that have been asked.
    subscript(node: NodeID) -> PieceGate {
        gates.withLock { gates in
            if let gate = gates[node] { return gate }
            let gate = PieceGate(limit: limit)
            gates[node] = gate
            return gate
        }
    }
}
