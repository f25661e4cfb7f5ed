import ChatModel
import RoomProtocol

/// The way of a body that many nodes get: a node sends it to a few others, the relays, and each of these to some of the
/// rest, in the same way. Pure; who sends it first decides the order, and everybody below divides what it is given.
public enum RelayTree {
    /// To so many nodes a node sends a body at most.
    public static let childrenMax = 8

    /// A node that is sent a body, and those to which it is to see that the body comes.
    public struct Branch: Sendable, Hashable {
        public var node: NodeID
        public var descendants: [NodeID]
    }

    /// To whom a node sends a body that all of `nodes` are to have; each of them is in one branch, once.
    ///
    /// Up to `childrenMax` nodes get it at once. With more, the number of relays is about the number of nodes that each
    /// serves, so that nobody sends more than it must: of 9 nodes 3 are relays with 2 each, of 64 nodes 8 with 7. From
    /// 73 on, the relays have relays.
    public static func branches(to nodes: some Collection<NodeID>, childrenMax: Int = childrenMax) -> [Branch] {
        let nodes = Array(nodes)
        guard nodes.count > childrenMax else { return nodes.map { Branch(node: $0, descendants: []) } }
        let count = (1...childrenMax).first { $0 * $0 >= nodes.count } ?? childrenMax
        return (0..<count).map { place in
            let part = nodes[place * nodes.count / count..<(place + 1) * nodes.count / count]
            return Branch(node: part[part.startIndex], descendants: Array(part.dropFirst()))
        }
    }

    /// The order in which the nodes of a room are divided. The same for all its bodies, so that a slow relay holds up
    /// its own children only, and another one for each room, so that not the same nodes are relays for all.
    static func order(_ nodes: [NodeID], of room: RoomID) -> [NodeID] {
        guard !nodes.isEmpty else { return [] }
        let sorted = nodes.sorted()
        let start = Int(Checksum.of(Array(room.text.utf8)) % UInt64(sorted.count))
        return Array(sorted[start...] + sorted[..<start])
    }
}

extension RelayedBody {
    /// The copies that `node`, which has got it, sends to others.
    public func copies(
        from node: NodeID, childrenMax: Int = RelayTree.childrenMax
    ) -> [(node: NodeID, body: RelayedBody)] {
        // A list that names either would send it in a circle.
        let others = descendants.filter { $0 != node && $0 != origin }
        return RelayTree.branches(to: others, childrenMax: childrenMax).map { branch in
            var copy = self
            copy.descendants = branch.descendants
            return (branch.node, copy)
        }
    }
}
