/// Nodes that are not heard any more, because an operator has removed them or another server has taken their place.
public struct RefusedNodes: Sendable, Hashable {
    /// Refused whatever store they say they have: the number is the node's own choice.
    public var nodes: Set<NodeID> = []
    /// Refused stores of nodes that may be heard with another store.
    public var stores: [NodeID: Set<UInt64>] = [:]
    /// SHA-256 of certificates; who shows one is refused under any name.
    public var certificates: Set<[UInt8]> = []

    public init() {}
}
