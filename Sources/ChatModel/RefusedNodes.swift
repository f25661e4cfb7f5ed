/// Who is not heard any more, since an operator has taken it out of the cluster or another server has taken its place.
public struct RefusedNodes: Sendable, Hashable {
    /// Refused whatever store they say they have: the number is the node's own choice.
    public var nodes: Set<NodeID> = []
    /// Of nodes that may be heard with another one.
    public var stores: [NodeID: Set<UInt64>] = [:]
    /// SHA-256 of certificates; who shows one is refused under any name.
    public var certificates: Set<[UInt8]> = []

    public init() {}
}
