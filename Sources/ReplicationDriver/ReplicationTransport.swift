import ChatModel
import Replication

/// Takes messages of transfers between replicas to other nodes, on the bulk lane of the link. Called on any loop.
public protocol ReplicationTransport: Sendable {
    /// False when it was not taken, because there is no connection or the lane is full: then it is tried again soon.
    func send(_ message: ReplicationMessage, to node: NodeID) -> Bool
}

/// For a node that has no others.
public struct NoReplication: ReplicationTransport {
    public init() {}

    public func send(_ message: ReplicationMessage, to node: NodeID) -> Bool { false }
}

/// Messages that the lane has not taken yet, in order.
struct ReplicationOutbox {
    private var waiting: [(message: ReplicationMessage, node: NodeID, age: Int)] = []
    private let transport: any ReplicationTransport

    /// Beyond it the newest are dropped, as if they were lost: a chunk has at most 200 KB.
    private static let waitingMax = 64
    /// In ticks of 100 ms: who is away for so long asks again.
    private static let ageMax = 50

    init(transport: any ReplicationTransport) { self.transport = transport }

    var isEmpty: Bool { waiting.isEmpty }

    func isWaiting(for node: NodeID) -> Bool { waiting.contains { $0.node == node } }

    mutating func send(_ message: ReplicationMessage, to node: NodeID) {
        if !isWaiting(for: node), transport.send(message, to: node) { return }
        if waiting.count < Self.waitingMax { waiting.append((message, node, 0)) }
    }

    /// Tries again, each node's in order.
    mutating func flush() {
        guard !waiting.isEmpty else { return }
        var full: Set<NodeID> = []
        waiting.removeAll { [transport] item in
            if full.contains(item.node) { return false }
            if transport.send(item.message, to: item.node) { return true }
            full.insert(item.node)
            return false
        }
    }

    /// To be called every 100 ms.
    mutating func tick() {
        flush()
        for position in waiting.indices { waiting[position].age += 1 }
        waiting.removeAll { $0.age > Self.ageMax }
    }
}
