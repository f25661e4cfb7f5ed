import ChatModel
import RoomLink
import Synchronization

/// Who leads which shard, as this node has heard; for what is not on the way of a message.
final class ShardLeaders: Sendable {
    private struct Leader {
        var node: NodeID
        var term: UInt64
        /// This node's replica does not hear it.
        var isDoubted = false
    }

    private let leaders = Mutex<[ShardID: Leader]>([:])

    func leads(_ node: NodeID, _ notice: ShardNotice) {
        leaders.withLock {
            guard $0[notice.shard].map({ $0.term <= notice.term }) ?? true else { return }
            $0[notice.shard] = Leader(node: node, term: notice.term)
        }
    }

    /// The same, said once more: news only where the first word was lost.
    func leadsStill(_ node: NodeID, _ notice: ShardNotice) {
        leaders.withLock {
            guard $0[notice.shard].map({ $0.term < notice.term }) ?? true else { return }
            $0[notice.shard] = Leader(node: node, term: notice.term)
        }
    }

    /// Whether this node's replica of the shard hears the leader. False when others say that another one leads.
    func note(_ node: NodeID, _ notice: ShardNotice, isHeard: Bool) -> Bool {
        leaders.withLock {
            guard let known = $0[notice.shard], known.node == node, known.term == notice.term else { return false }
            $0[notice.shard]?.isDoubted = !isHeard
            return true
        }
    }

    /// The node leads that shard, or nothing (nil), any more.
    func lost(_ node: NodeID, _ shard: ShardID? = nil) {
        leaders.withLock { all in
            if let shard {
                if all[shard]?.node == node { all[shard] = nil }
            } else {
                all = all.filter { $0.value.node != node }
            }
        }
    }

    /// Tells somebody who could not be told before who leads what, as they have said it, and whether this node's replica
    /// hears them. `tell` only hands on: what is said meanwhile comes after it.
    func repeatAll(_ tell: (_ node: NodeID, _ notice: ShardNotice, _ isHeard: Bool) -> Void) {
        leaders.withLock { all in
            for (shard, leader) in all {
                tell(leader.node, ShardNotice(shard: shard, term: leader.term), !leader.isDoubted)
            }
        }
    }

    func leader(of shard: ShardID) -> NodeID? {
        leaders.withLock { all in all[shard].flatMap { $0.isDoubted ? nil : $0.node } }
    }

    /// Every shard whose leader is known.
    var all: [ShardID: NodeID] { leaders.withLock { $0.filter { !$0.value.isDoubted }.mapValues(\.node) } }
}
