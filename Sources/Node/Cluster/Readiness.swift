/// Whether this node serves (PROTOCOL.md, "Health"): what it needs for that itself. Pure: the facts are passed in.
///
/// Shards without a leader do not count. They have none for all nodes, so a load balancer that listens to `/readyz`
/// would take out every node, and with them the shards that work.
struct Readiness: Sendable {
    /// Why the node's store takes no writes, or is not open yet; nil: it takes them.
    var storeRefusal: String?
    /// Whether the node hears the majority of the system group.
    var hearsMajority: Bool
    /// Whether the node's clock is near enough to the others' to judge tokens.
    var hasUsableClock: Bool
    /// Whether the cluster has listed the node.
    var isListed: Bool
    /// Whether the node is being emptied.
    var isDraining: Bool

    /// The reason for clients and operators.
    static let wrongClock = "this node's clock is wrong"

    /// It does not pass: a drain can't be taken back (OPERATIONS.md, "Shrink").
    static let drained =
        "this node is being drained, for good: remove it when it holds no shard; to have it again, readmit it then, and "
        + "start it with an empty directory"

    /// A sentence that says why the node does not serve; nil: it does.
    var refusal: String? {
        if let storeRefusal { return storeRefusal }
        if !hearsMajority { return "the system group has no leader that is heard" }
        if !hasUsableClock { return Self.wrongClock }
        if !isListed { return "the cluster has not taken this node in yet" }
        if isDraining { return Self.drained }
        return nil
    }
}
