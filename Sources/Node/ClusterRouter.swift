import ChatModel
import Consensus
import Gateway
import RoomLink
import Rooms
import Synchronization

/// Takes what the parts of this node have for each other, and for other nodes, to where it belongs: calls to leaders of
/// rooms, publications to gateways, consensus messages to other members of a group.
final class ClusterRouter: RoomRouter, PublicationSink, ConsensusTransport, Sendable {
    /// What it routes between, once it exists.
    private struct Parts {
        var rooms: RoomHost
        var gateway: Gateway
    }

    private let node: NodeID
    private let parts = Mutex<Parts?>(nil)

    init(node: NodeID) { self.node = node }

    func connect(_ rooms: RoomHost, _ gateway: Gateway) { parts.withLock { $0 = Parts(rooms: rooms, gateway: gateway) } }

    private var current: Parts? { parts.withLock { $0 } }

    func route(_ calls: [RoomCall], to node: NodeID, from lane: Int) {
        guard node != self.node else {
            current?.rooms.receive(calls)
            return
        }
    }

    func deliver(_ publications: [Publication], to lane: Int, of node: NodeID) {
        guard node != self.node else {
            current?.gateway.deliver(publications, to: lane, from: node)
            return
        }
    }

    func leads(_ notice: ShardNotice) { current?.gateway.isLed(notice, by: node) }

    func leadsNoMore(_ shard: ShardID) { current?.gateway.isLost(node, shard) }

    func send(_ messages: [RaftMessage]) {}
}
