import ChatModel
import NodeLinkCore
import RoomProtocol
import Synchronization

/// Which version of the link each node speaks that is reached: nothing is said to a node that its version does not
/// know, since it takes that for malformed and drops the link.
final class PeerVersions: Sendable {
    private let versions = Mutex<[NodeID: UInt32]>([:])

    /// The node is reached over a link of that version; nil: it is not reached any more.
    func note(_ node: NodeID, _ version: UInt32?) { versions.withLock { $0[node] = version } }

    /// Whether the node is reached and knows what came with that version.
    func knows(_ version: UInt32, _ node: NodeID) -> Bool { versions.withLock { $0[node] ?? 0 } >= version }

    /// Whether the node understands the message.
    func understands(_ message: NodeMessage, _ node: NodeID) -> Bool {
        // A message that every version knows may also be on its way to a node that is just not reached any more.
        let since = message.sinceVersion
        return since <= LinkHello.versions.lowerBound || knows(since, node)
    }
}

extension NodeMessage {
    /// The first version of the link that knows this kind of message.
    var sinceVersion: UInt32 {
        switch self {
        case .requests, .answers, .publications, .leads, .question, .answer: LinkHello.versions.lowerBound
        case .body, .bodyRequest, .bodiesGone: LinkHello.relayVersion
        case .pulses, .tallyRequest, .tallies, .recount: LinkHello.pulseVersion
        case .uses: LinkHello.usesVersion
        case .takenOver: LinkHello.takenOverVersion
        }
    }
}
