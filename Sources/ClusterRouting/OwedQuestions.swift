import ChatModel
import RoomProtocol

/// Questions that change something at every node, and that a node has not answered: it is asked again when it is reached.
///
/// A node that stands still serves its clients again as soon as it goes on. An order that was given meanwhile must reach it then.
struct OwedQuestions: Sendable {
    /// For so long a node is owed a question. Later its clients have long gone elsewhere, where the order holds.
    static let life = Duration.seconds(600)
    /// So many of one node at most; the oldest goes first.
    static let questionsMax = 1_000

    private struct Owed: Sendable {
        var question: NodeQuestion
        var end: ContinuousClock.Instant
    }

    private var byNode: [NodeID: [Owed]] = [:]

    mutating func add(_ question: NodeQuestion, to node: NodeID, at now: ContinuousClock.Instant) {
        var owed = byNode[node] ?? []
        owed.removeAll { $0.end <= now }
        if owed.count == Self.questionsMax { owed.removeFirst() }
        owed.append(Owed(question: question, end: now + Self.life))
        byNode[node] = owed
    }

    /// Those that the node is asked now, the oldest first. They are owed no more.
    mutating func take(of node: NodeID, at now: ContinuousClock.Instant) -> [NodeQuestion] {
        (byNode.removeValue(forKey: node) ?? []).filter { $0.end > now }.map(\.question)
    }
}
