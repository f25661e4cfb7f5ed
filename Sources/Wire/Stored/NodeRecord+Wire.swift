import ChatModel

extension NodeRole: WireEnum {
    public static var blank: NodeRole { .data }
    public var number: Int {
        switch self {
        case .data: 1
        case .gateway: 2
        }
    }
}

/// A state that was written before nodes introduced themselves has only node and store.
extension NodeRecord: WireMessage {
    public static var blank: NodeRecord { NodeRecord(node: .blank, store: 0) }
    public static var schemaName: String { "SystemNode" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        // The bits of an unsigned number.
        var bits = Int64(bitPattern: store)
        try walker.required(1, "node", &node)
        try walker.required(2, "store", &bits)
        try walker.shown(3, "linkAddress", &linkAddress)
        try walker.list(4, "clientUrls", &clientURLs)
        try walker.defaulted(5, "role", &role, default: .data)
        try walker.shown(6, "draining", &isDraining)
        try walker.shown(7, "takenInAt", &takenInAt)
        if W.isDecoding { store = UInt64(bitPattern: bits) }
    }
}
