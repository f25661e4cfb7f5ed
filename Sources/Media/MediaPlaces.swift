import ChatModel

/// The nodes that store a piece of content: the first in the order of rendezvous hashing, so that every node finds the same
/// ones without asking, and a node that comes or goes moves only what has to move.
public enum MediaPlaces {
    /// Content is on so many nodes before its sending is answered, if the cluster has two data nodes.
    public static let copies = 2

    /// The nodes in the order in which they are to store the content.
    public static func order(of id: String, among nodes: some Collection<NodeID>) -> [NodeID] {
        nodes.map { (weight: weight(id, $0), node: $0) }
            .sorted { ($0.weight, $1.node) > ($1.weight, $0.node) }
            .map(\.node)
    }

    private static func weight(_ id: String, _ node: NodeID) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in node.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        hash = (hash ^ 0xFF) &* 0x0000_0100_0000_01b3
        for byte in id.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        // FNV alone hardly mixes its upper bits (the end of SplitMix64 does).
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
        return hash ^ (hash >> 31)
    }
}
