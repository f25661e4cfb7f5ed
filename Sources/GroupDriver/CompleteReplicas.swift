import ChatModel
import Consensus

/// Which replicas of a group have all of its history, as they have told the leader. A leader of another term begins
/// anew.
package struct CompleteReplicas: Sendable {
    private var term: UInt64?
    private var servers: Set<ServerID> = []
    /// Nodes that were given a snapshot, and what was committed then: what they had said before is void, and so is what
    /// they said of an earlier entry.
    private var given: [String: UInt64] = [:]

    /// A replica has all history up to an entry.
    ///
    /// - Parameters:
    ///   - index: the entry; the greatest where the state is all there is.
    ///   - term: in which this node leads.
    package mutating func note(complete server: ServerID, upTo index: UInt64 = .max, in term: UInt64) {
        begin(term)
        if index >= given[server.node] ?? 0 { servers.insert(server) }
    }

    /// A node is being given a snapshot, which leaves history behind.
    ///
    /// - Parameter committed: what is committed now: at least what the snapshot holds when the node has it.
    package mutating func note(given node: NodeID, committed: UInt64, in term: UInt64) {
        begin(term)
        given[node.text] = max(given[node.text] ?? 0, committed)
        servers = servers.filter { $0.node != node.text }
    }

    /// Those that are complete in this term. Voters were complete when they were promoted, unless they have needed a
    /// snapshot since.
    package func complete(of voters: [ServerID], in term: UInt64) -> Set<ServerID> {
        guard self.term == term else { return Set(voters) }
        return servers.union(voters.filter { given[$0.node] == nil })
    }

    private mutating func begin(_ term: UInt64) {
        guard self.term != term else { return }
        self = CompleteReplicas()
        self.term = term
    }
}
