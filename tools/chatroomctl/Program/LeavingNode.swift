import ControlClient

/// The question before a node goes for good where fewer than three stay.
enum LeavingNode: String {
    case drained, removed

    /// With fewer nodes each shard is on one of them (OPERATIONS.md, "Shrink").
    private static let replicasWanted = 3

    /// How many nodes with replicas stay, of those that answer and are not on their way out themselves; nil where the node
    /// has none that would go with it.
    static func staying(without node: String, _ shards: JSONTree, _ cluster: JSONTree) -> Int? {
        let replicas = (shards["shards"]?.items ?? []).flatMap { ($0["replicas"]?.items ?? []).compactMap(\.text) }
        let leaving = (cluster["nodes"]?.items ?? []).filter {
            $0["draining"]?.boolean == true || $0["alive"]?.boolean == false
        }
        guard replicas.contains(node) else { return nil }
        return Set(replicas).subtracting(leaving.compactMap { $0["id"]?.text }).subtracting([node]).count
    }

    /// Asks for the node's ID once more, if it has replicas and too few others are left. Throws where nobody types it, or
    /// something else.
    func confirm(_ node: String, _ client: AdminClient) async throws {
        let shards = try await client.call("GET", ["cluster", "shards"])
        let nodes = try await client.call("GET", ["cluster"])
        guard let count = Self.staying(without: node, shards, nodes), count < Self.replicasWanted else { return }
        let name = DisplayText.safe(node)
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
