import ChatModel
import Consensus
import ShardPlacement

/// Brings a group that this node leads to where it belongs, one step at a time. On the group's loop, once a second.
package struct GroupKeeper {
    private var reconciler = Reconciler()
    private var term: UInt64?
    /// The servers that have all of the group's history.
    package var replicas = CompleteReplicas()

    package init() {}

    /// Looks at the group, and asks its log for the next step. A leader of another term begins anew.
    /// - Parameter mayHandOver: whether this is a moment to give leadership away; if not, it is tried again later.
    package mutating func step(_ log: GroupLog, own: ServerID, _ cluster: ClusterView, mayHandOver: Bool = true) {
        let known = cluster.current
        log.setHasRightClock(!known.wrongClocks.contains(own.node))
        guard log.isEstablished else { return }
        if term != log.term {
            term = log.term
            reconciler = Reconciler()
        }
        guard !known.nodes.isEmpty, let placement = known.placement.group(log.group) else { return }
        let view = GroupView(
            own: own, membership: log.membership, isSettled: !log.isTransferring, peers: log.peerStatuses,
            placement: placement, complete: replicas.complete(of: log.membership.voters, in: log.term),
            nodes: known.nodes,
            deadSince: known.deadSince, wrongClocks: known.wrongClocks, reachingMore: known.reachingMore,
            reachingFewer: known.reachingFewer)
        do throws(RaftError) {
            switch reconciler.next(view, now: ClusterView.ticks()) {
            case .change(let change)?: try log.change(change)
            // The sessions of a node that is not reached here are in their grace: its lanes announce them to the heir.
            case .transferLeadership(let server)? where mayHandOver || known.reachingMore.contains(server.node):
                try log.transferLeadership(to: server)
            case .transferLeadership, nil: break
            }
        } catch {
            // A step that the group does not take now is tried again.
        }
    }
}
