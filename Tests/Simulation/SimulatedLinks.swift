import ChatModel
import LinkCore
import RoomLink

/// The links of one node, as `ClusterLink` has them, in the values of LinkCore; with what `ClusterInbox` keeps of each.
final class SimulatedLinks {
    final class Connection {
        let id: LinkPeers.ConnectionID
        let wire: SimulatedWire
        /// This node's side of it.
        let place: Int
        var conversation: LinkConversation
        /// Whether the end was told to `LinkPeers`.
        var isGone = false
        var isDirty = false

        init(_ id: LinkPeers.ConnectionID, _ wire: SimulatedWire, _ place: Int, _ conversation: LinkConversation) {
            (self.id, self.wire, self.place, self.conversation) = (id, wire, place, conversation)
        }
    }

    let hello: LinkHello
    var peers: LinkPeers
    var connections: [LinkPeers.ConnectionID: Connection] = [:]
    var reachedBy: [NodeID: Connection] = [:]
    /// Calls whose connection is not established.
    var calls: [NodeID: SimulatedWire] = [:]
    var dirty: [Connection] = []
    /// When the timer is set for.
    var wakeUp: UInt64?
    /// Of the nodes that are reached.
    var stores: [NodeID: UInt64] = [:]
    var readers: [NodeID: [LinkLane: NodePayloadReader]] = [:]
    /// How many connections to a node have ended, for a planted fault.
    var ends: [NodeID: Int] = [:]
    private var lastNumber: UInt64 = 0

    init(_ hello: LinkHello) {
        self.hello = hello
        peers = LinkPeers(me: hello)
    }

    func nextID() -> LinkPeers.ConnectionID {
        lastNumber += 1
        return LinkPeers.ConnectionID(lastNumber)
    }

    var sorted: [Connection] { connections.values.sorted { $0.id.number < $1.id.number } }

    /// As in `ClusterLinkConfiguration`.
    static let patience = LinkConversation.Patience(greeting: 5_000, ping: 1_000, silence: 5_000)

    /// Whoever can make this has the key; that others can't is tested elsewhere.
    static let keys = LinkKeys(prove: { proof(of: $0) }, accepts: { $0 == proof(of: $1) })

    private static func proof(of statement: [UInt8]) -> [UInt8] {
        let hash = statement.reduce(0x6b65_795f_6b65_795f as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * UInt64($0))) }
    }
}
