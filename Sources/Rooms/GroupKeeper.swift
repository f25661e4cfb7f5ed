import ChatModel
import Consensus
import Sharding

/// Brings a group that this node leads to where it belongs, one step at a time. On the group's loop, once a second.
struct GroupKeeper {
    private var reconciler = Reconciler()
    private var term: UInt64?
    /// Replicas that have told this leader that they have all of the history.
    private var complete: Set<ServerID> = []

    /// A replica has all of the group's history.
    mutating func note(complete server: ServerID) { complete.insert(server) }

    /// Looks at the group, and asks its log for the next step. A leader of another term begins anew.
    mutating func step(_ log: GroupLog, own: ServerID, _ cluster: ClusterView) {
        guard log.isEstablished else { return }
        if term != log.term {
            term = log.term
            reconciler = Reconciler()
            complete = []
        }
        let known = cluster.current
        guard !known.nodes.isEmpty, let placement = known.placement.group(log.group) else { return }
        // Voters were complete when they were promoted, or they would not lead.
        let view = GroupView(
            own: own, membership: log.membership, isSettled: !log.isTransferring, peers: log.peerStatuses,
            placement: placement, complete: complete.union(log.membership.voters), nodes: known.nodes,
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
