import ChatModel

/// The nodes whose token keys differ from this node's. While keys are changed node by node they differ for a moment, so a
/// node is told of when it has differed at two looks, and once until it has the same keys again. Pure: facts are passed in.
struct KeysWatch: Sendable {
    /// Nodes that differed at the last look, and whether they were told of.
    private var differing: [NodeID: Bool] = [:]

    /// - Parameter keys: of the other node; nil where it says nothing of them.
    /// - Returns: whether it is to be told.
    mutating func look(at node: NodeID, keys: String?, own: String) -> Bool {
        guard let keys, keys != own else {
            differing[node] = nil
            return false
        }
        guard let isTold = differing[node] else {
            differing[node] = false
            return false
        }
        differing[node] = true
        return !isTold
    }

    /// Nodes that are not reached any more.
    mutating func forget(where isGone: (NodeID) -> Bool) { differing = differing.filter { !isGone($0.key) } }
}
