import ChatModel

/// Decides when the cluster's feature level is raised by itself: a while after all listed nodes have said that they can
/// do the next one (PROTOCOL.md, "Versions"). A value.
struct LevelWatch: Sendable {
    /// A node as the system group lists it: another store is another node, which has not said anything yet.
    struct Listed: Hashable, Sendable {
        var node: NodeID
        var store: UInt64
    }

    /// Seconds; nil: never, an operator does it.
    private let patience: Double?
    /// Since when all nodes can do a level above the cluster's, and which one.
    private var since: (level: FeatureLevel, seconds: Double)?
    /// The last answers. A node that does not answer, because it restarts for example, still can do what it could.
    private var said: [Listed: FeatureLevel] = [:]

    init(patienceSeconds: Double?) { patience = patienceSeconds }

    /// - Parameters:
    ///   - answers: what nodes have said just now.
    ///   - seconds: by a clock that never goes back.
    /// - Returns: the level to raise the cluster to now, with the nodes that can do it.
    mutating func look(
        at listed: [Listed], answers: [NodeID: FeatureLevel], level: FeatureLevel, seconds: Double
    ) -> (level: FeatureLevel, nodes: [Listed])? {
        var known: [Listed: FeatureLevel] = [:]
        for node in listed { known[node] = answers[node.node] ?? said[node] }
        said = known
        guard let patience, known.count == Set(listed).count, let common = known.values.min(), common > level else {
            since = nil
            return nil
        }
        if since?.level != common { since = (common, seconds) }
        // A node that is away may come back with another program: now all must be here.
        guard let begin = since?.seconds, seconds - begin >= patience,
            listed.allSatisfy({ answers[$0.node] != nil })
        else { return nil }
        return (common, listed)
    }
}
