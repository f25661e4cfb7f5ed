import ChatModel
import Wire

/// Which nodes the cluster consists of.
extension SystemState {
    mutating func add(_ record: NodeRecord) -> (SystemResult, SystemChange?) {
        let bytes = record.clientURLs.reduce(record.linkAddress.utf8.count) { $0 + $1.utf8.count }
        guard record.clientURLs.count <= NodeRecord.clientURLsMax, bytes <= Self.nodeBytesMax else {
            return (
                .refused(
                    ChatError(
                        .tooLarge,
                        "a node has at most \(NodeRecord.clientURLsMax) URLs, and \(Self.nodeBytesMax) bytes of them")),
                nil
            )
        }
        guard !removed.contains(RemovedNode(node: record.node, store: record.store)) else {
            return (.refused(ChatError(.conflict, "\(record.node) was taken out of the cluster", field: "node")), nil)
        }
        var record = record
        record.isDraining = false
        record.takenInAt = time
        guard let place = nodes.firstIndex(where: { $0.node == record.node }) else {
            guard nodes.count < Self.nodesMax else {
                return (.refused(ChatError(.conflict, "there are \(Self.nodesMax) nodes already")), nil)
            }
            nodes.append(record)
            return (.done, .nodes(nodes))
        }
        let known = nodes[place]
        // What an operator has begun, a restart of the node does not end.
        record.isDraining = known.isDraining
        if known.store == record.store { record.takenInAt = known.takenInAt }
        guard record.role == .data || holdsRooms(besides: record.node) else { return (.refused(Self.lastNode), nil) }
        guard record != known else { return (.done, nil) }
        if known.store != record.store { remember(removed: known) }
        nodes[place] = record
        return (.done, .nodes(nodes))
    }

    mutating func remove(_ node: NodeID) -> (SystemResult, SystemChange?) {
        guard let place = nodes.firstIndex(where: { $0.node == node }) else { return (.refused(unknown(node)), nil) }
        guard holdsRooms(besides: node) else { return (.refused(Self.lastNode), nil) }
        remember(removed: nodes.remove(at: place))
        return (.done, .nodes(nodes))
    }

    mutating func setDraining(_ node: NodeID, _ isDraining: Bool) -> (SystemResult, SystemChange?) {
        guard let place = nodes.firstIndex(where: { $0.node == node }) else { return (.refused(unknown(node)), nil) }
        guard nodes[place].isDraining != isDraining else { return (.done, nil) }
        nodes[place].isDraining = isDraining
        return (.done, .nodes(nodes))
    }

    /// Of it nothing is heard any more (`LinkPeers.refuse`). With another store the node may come again.
    private mutating func remember(removed record: NodeRecord) {
        removed.append(RemovedNode(node: record.node, store: record.store))
        removed.removeFirst(max(0, removed.count - Self.removedMax))
    }

    private func holdsRooms(besides node: NodeID) -> Bool {
        nodes.contains { $0.node != node && $0.role == .data }
    }

    private func unknown(_ node: NodeID) -> ChatError {
        ChatError(.notFound, "there is no node \(node) in the cluster", field: "node")
    }

    private static let lastNode = ChatError(.conflict, "it is the last node that holds rooms")
}
