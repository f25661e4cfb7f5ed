import ChatModel
import RoomProtocol

/// Questions that change something at every node, and that a node has not answered: it is asked again when it is reached.
///
/// A node that stands still serves its clients again as soon as it goes on. An order that was given meanwhile must reach it then.
struct OwedQuestions: Sendable {
    /// A node is owed a question for this time at most. Later its clients have gone elsewhere, where the order holds, and the
    /// user may have begun sessions that the order does not mean.
    static let life = Duration.seconds(60)
    /// So many of one node at most; the oldest goes first.
    static let questionsMax = 1_000

    struct Owed: Sendable {
        var question: NodeQuestion
        var end: ContinuousClock.Instant
    }

    private var byNode: [NodeID: [Owed]] = [:]

    mutating func add(_ question: NodeQuestion, to node: NodeID, at now: ContinuousClock.Instant) {
        byNode[node, default: []].removeAll { $0.end <= now }
        putBack([Owed(question: question, end: now + Self.life)], to: node)
    }

    /// These were taken and not answered. They keep their end.
    mutating func putBack(_ owed: some Sequence<Owed>, to node: NodeID) {
        let all = byNode[node, default: []] + owed
        byNode[node] = Array(all.suffix(Self.questionsMax))
    }

    /// Those that the node is asked now, the oldest first. They are owed no more.
    mutating func take(of node: NodeID, at now: ContinuousClock.Instant) -> [Owed] {
        (byNode.removeValue(forKey: node) ?? []).filter { $0.end > now }
    }
}
