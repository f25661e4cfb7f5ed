import ChatModel
import Wire

/// A node's word about the listed nodes that it does not reach by its own links.
public struct ReachNews: Sendable, Hashable {
    public var node: NodeID
    public var unreached: [NodeID]

    public init(node: NodeID, unreached: [NodeID]) {
        self.node = node
        self.unreached = unreached
    }
}

extension ReachNews: WireMessage {
    public static var blank: ReachNews { ReachNews(node: .blank, unreached: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.repeated(2, "unreached", &unreached)
    }
}
