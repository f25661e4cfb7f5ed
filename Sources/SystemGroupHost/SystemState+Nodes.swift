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
        guard !removed.contains(where: { $0.node == record.node && $0.store == record.store }),
            !isRemoved(record.node)
        else { return (.refused(Self.takenOut(record.node)), nil) }
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
        // A restart of the node does not end an operator's drain.
        record.isDraining = known.isDraining
        if known.store == record.store { record.takenInAt = known.takenInAt }
        guard record.role == .data || holdsRooms(besides: record.node) else { return (.refused(Self.lastNode), nil) }
        guard record != known else { return (.done, nil) }
        if known.store != record.store { _ = remember(known, isReadmitted: true, nil) }
        nodes[place] = record
        return (.done, .nodes(nodes))
    }

    mutating func remove(_ node: NodeID, _ certificate: [UInt8]?) -> (SystemResult, SystemChange?) {
        guard let place = nodes.firstIndex(where: { $0.node == node }) else { return (.refused(unknown(node)), nil) }
        guard holdsRooms(besides: node) else { return (.refused(Self.lastNode), nil) }
        guard remember(nodes[place], isReadmitted: false, certificate) else {
            return (
                .refused(
                    ChatError(
                        .conflict,
                        "\(Self.removedMax) nodes were taken out of the cluster: readmit one that is harmless")),
                nil
            )
        }
        nodes.remove(at: place)
        return (.done, .nodes(nodes))
    }

    /// It may come again with another store, and with the certificate that it had.
    mutating func readmit(_ node: NodeID) -> (SystemResult, SystemChange?) {
        guard removed.contains(where: { $0.node == node }) else {
            return (.refused(ChatError(.notFound, "\(node) was not taken out of the cluster", field: "node")), nil)
        }
        var isChanged = false
        for place in removed.indices where removed[place].node == node && !removed[place].isReadmitted {
            (removed[place].isReadmitted, removed[place].certificate) = (true, nil)
            isChanged = true
        }
        return (.done, isChanged ? .nodes(nodes) : nil)
    }

    /// Whether an operator has taken the node out, and not readmitted it. One that is listed was not: of it former
    /// stores are refused alone.
    private func isRemoved(_ node: NodeID) -> Bool {
        !nodes.contains { $0.node == node } && removed.contains { $0.node == node && !$0.isReadmitted }
    }

    /// The nodes that links have to refuse.
    var refusedNodes: RefusedNodes {
        var all = RefusedNodes()
        for item in removed {
            all.stores[item.node, default: []].insert(item.store)
            if isRemoved(item.node) { all.nodes.insert(item.node) }
            if let certificate = item.certificate { all.certificates.insert(certificate) }
        }
        return all
    }

    mutating func setDraining(_ node: NodeID, _ isDraining: Bool) -> (SystemResult, SystemChange?) {
        guard let place = nodes.firstIndex(where: { $0.node == node }) else { return (.refused(unknown(node)), nil) }
        guard nodes[place].isDraining != isDraining else { return (.done, nil) }
        nodes[place].isDraining = isDraining
        return (.done, .nodes(nodes))
    }

    /// The node is not heard any more (`LinkPeers.refuse`).
    /// - Returns: false when there is no place for it, which there is for whatever is only a store.
    private mutating func remember(_ record: NodeRecord, isReadmitted: Bool, _ certificate: [UInt8]?) -> Bool {
        if removed.count >= Self.removedMax {
            guard let oldest = removed.firstIndex(where: \.isReadmitted) else { return isReadmitted }
            removed.remove(at: oldest)
        }
        var item = RemovedNode(node: record.node, store: record.store)
        (item.isReadmitted, item.certificate) = (isReadmitted, certificate)
        removed.append(item)
        return true
    }

    /// Nodes are asked before what they can do. One that was taken in since, or came with another store, was not.
    mutating func raise(to new: FeatureLevel, _ stores: [UInt64]) -> (SystemResult, SystemChange?) {
        guard new > level else { return (.done, nil) }
        let asked = Set(stores)
        if let other = nodes.first(where: { !asked.contains($0.store) }) {
            return (
                .refused(ChatError(.conflict, "\(other.node) has not said that it can do feature level \(new)")), nil
            )
        }
        level = new
        return (.done, .level(new))
    }

    static func takenOut(_ node: NodeID) -> ChatError {
        ChatError(
            .conflict, "\(node) was taken out of the cluster: readmit it, and start it without its old data",
            field: "node")
    }

    private func holdsRooms(besides node: NodeID) -> Bool {
        nodes.contains { $0.node != node && $0.role == .data }
    }

    private func unknown(_ node: NodeID) -> ChatError {
        ChatError(.notFound, "there is no node \(node) in the cluster", field: "node")
    }

    private static let lastNode = ChatError(.conflict, "it is the last node that holds rooms")
}
