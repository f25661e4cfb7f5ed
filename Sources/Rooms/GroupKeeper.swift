import ChatModel
import Consensus
import Sharding

/// Brings a group that this node leads to where it belongs, one step at a time. On the group's loop, once a second.
struct GroupKeeper {
    private var reconciler = Reconciler()
    private var term: UInt64?
    /// Replicas that have told this leader that they have all of the history.
    private var complete: Set<ServerID> = []

    /// Nodes that were given a snapshot, and what was committed then: what they had said before is void, and so is what
    /// they said of an earlier entry.
    private var given: [String: UInt64] = [:]

    /// A replica has all of the group's history up to an entry.
    ///
    /// - Parameters:
    ///   - index: the entry; the greatest where the state is all there is.
    ///   - term: in which this node leads.
    mutating func note(complete server: ServerID, upTo index: UInt64 = .max, in term: UInt64) {
        begin(term)
        if index >= given[server.node] ?? 0 { complete.insert(server) }
    }

    /// A node is being given a snapshot, which leaves history behind.
    ///
    /// - Parameter committed: what is committed now: at least what the snapshot holds when the node has it.
    mutating func note(given node: NodeID, committed: UInt64, in term: UInt64) {
        begin(term)
        given[node.text] = max(given[node.text] ?? 0, committed)
        complete = complete.filter { $0.node != node.text }
    }

    private mutating func begin(_ term: UInt64) {
        guard self.term != term else { return }
        self.term = term
        reconciler = Reconciler()
        complete = []
        given = [:]
    }

    /// Looks at the group, and asks its log for the next step. A leader of another term begins anew.
    mutating func step(_ log: GroupLog, own: ServerID, _ cluster: ClusterView) {
        guard log.isEstablished else { return }
        begin(log.term)
        let known = cluster.current
        guard !known.nodes.isEmpty, let placement = known.placement.group(log.group) else { return }
        // Voters were complete when they were promoted, and may have needed a snapshot since.
        let voters = log.membership.voters.filter { given[$0.node] == nil }
        let view = GroupView(
            own: own, membership: log.membership, isSettled: !log.isTransferring, peers: log.peerStatuses,
            placement: placement, complete: complete.union(voters), nodes: known.nodes,
            deadSince: known.deadSince)
        do throws(RaftError) {
            switch reconciler.next(view, now: ClusterView.ticks()) {
            case .change(let change)?: try log.change(change)
            case .transferLeadership(let server)?: try log.transferLeadership(to: server)
            case nil: break
            }
        } catch {
            // What the group does not take now is asked for again.
        }
    }
}
