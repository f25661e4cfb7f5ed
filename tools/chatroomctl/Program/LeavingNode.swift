import ControlClient

/// The question before a node goes for good where fewer than three stay.
enum LeavingNode: String {
    case drained, removed

    /// With fewer nodes each shard is on one of them (OPERATIONS.md, "Shrink").
    private static let replicasWanted = 3

    /// Asks for the node's ID once more, if it has replicas and too few others are left. Throws where nobody types it, or
    /// something else.
    func confirm(_ node: String, _ client: AdminClient) async throws {
        let shards = try await client.call("GET", ["cluster", "shards"])["shards"]?.items ?? []
        var holders = Set(shards.flatMap { ($0["replicas"]?.items ?? []).compactMap(\.text) })
        // A node that holds no shard takes no replica with it.
        guard holders.remove(node) != nil, holders.count < Self.replicasWanted else { return }
        let (name, count) = (DisplayText.safe(node), holders.count)
        let verb = self == .drained ? "drain" : "remove"
        Output.note(
            """
            \(self == .drained ? "Drain" : "Remove") \(name)? \(count) other \(count == 1 ? "node is" : "nodes are") left, \
            and each shard will be on one node only: when that node is lost, its rooms are. This can't be taken back. Type \
            the node's ID to \(verb) it:
            """)
        guard let typed = readLine(), typed == node else {
            throw CommandFailure(.refused, "\(name) was not \(rawValue); --yes \(verb)s it without asking")
        }
    }
}
