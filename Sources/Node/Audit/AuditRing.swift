import ChatModel

/// The keepers of copies: the listed nodes as a ring, in the order of their IDs. A node's record is also kept by the next
/// node, which gives it back when the node has begun again without its data. That of a node that is not listed any more is
/// kept by the two nodes behind its place.
struct AuditRing: Sendable {
    /// One node's record to copy to another.
    struct Duty: Sendable, Hashable {
        var record: NodeID
        var holder: NodeRecord
        /// The store of the node that is to have it and can't be reached: the holder gets what that one has not. Nil
        /// when the holder is the one that is to have it.
        var standsInFor: UInt64?
    }

    /// In the order of their IDs.
    private let listed: [NodeRecord]

    init(_ listed: [NodeRecord]) { self.listed = listed.sorted { Self.precedes($0.node, $1.node) } }

    /// The records that `own` has to copy, and where to.
    /// - Parameters:
    ///   - recorded: the nodes of which it has rows.
    ///   - reached: the nodes that it can copy to.
    func duties(of own: NodeID, recorded: [NodeID], reached: Set<NodeID>) -> [Duty] {
        let others = followers(of: own)
        guard let keeper = others.first, let holder = others.first(where: { reached.contains($0.node) }) else {
            return []
        }
        return recorded.compactMap { record in
            if isResponsible(own, for: record) {
                return Duty(record: record, holder: holder, standsInFor: holder == keeper ? nil : keeper.store)
            }
            guard reached.contains(record), followers(of: record).first?.node == own else { return nil }
            return listed.first { $0.node == record }.map { Duty(record: record, holder: $0) }
        }
    }

    private func isResponsible(_ own: NodeID, for record: NodeID) -> Bool {
        if record == own { return true }
        if listed.contains(where: { $0.node == record }) { return false }
        return followers(of: record).first?.node == own
    }

    /// The other listed nodes, beginning behind that one's place.
    private func followers(of node: NodeID) -> [NodeRecord] {
        let others = listed.filter { $0.node != node }
        let next = others.firstIndex { Self.precedes(node, $0.node) } ?? 0
        return Array(others[next...] + others[..<next])
    }

    private static func precedes(_ a: NodeID, _ b: NodeID) -> Bool {
        a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }
}
