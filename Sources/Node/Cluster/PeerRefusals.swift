import ChatModel
import Consensus
import LinkCore
import Logging
import RoomLink
import Telemetry

/// Looks at what a node says, behind its proof and before anything is done with it: in whose name it speaks, and whether
/// the terms that it names can be. The node itself may be the enemy, or broken.
struct PeerRefusals: Sendable {
    private let terms: Counter
    private let logger: Logger

    init(metrics: MetricsRegistry, logger: Logger) {
        terms = metrics.counter(
            "chatroom_terms_refused_total", "Messages and notices of other nodes that named a term above 2^48.")
        self.logger = logger
    }

    /// Those that name no term above `RaftGroup.termMax`. The others are counted; a core would refuse them, too.
    func believable(_ messages: [RaftMessage], from node: NodeID) -> [RaftMessage] {
        believable(messages, from: node) { $0.highestTerm }
    }

    /// The same with who leads what: later leaders, with lower terms, would not be believed any more.
    func believable(_ notices: [ShardNotice], from node: NodeID) -> [ShardNotice] {
        believable(notices, from: node) { $0.term }
    }

    /// The same with who goes on leading.
    func believable(_ pulses: [ShardPulse], from node: NodeID) -> [ShardPulse] {
        believable(pulses, from: node) { $0.term }
    }

    private func believable<Item>(_ items: [Item], from node: NodeID, _ term: (Item) -> UInt64) -> [Item] {
        let kept = items.filter { term($0) <= RaftGroup.termMax }
        guard kept.count < items.count else { return items }
        // A node does this never or all the time.
        if terms.value == 0 {
            logger.error("a node names terms that no election leads to", metadata: ["peer": "\(node)"])
        }
        terms.add(items.count - kept.count)
        return kept
    }

    /// Sessions call from the node that holds them, and nobody gets another node listed.
    /// - Throws: `identity` for what names another node as its sender.
    static func check(_ message: NodeMessage, from node: NodeID) throws(LinkError) {
        let named: NodeID?
        switch message {
        case .calls(let calls): named = calls.first { $0.address.node != node }?.address.node
        case .question(_, .join(let record)): named = record.node == node ? nil : record.node
        case .publications, .leads, .question, .answer, .body, .bodyRequest, .bodiesGone, .pulses, .tallyRequest,
            .tallies, .recount:
            named = nil
        }
        if let named { throw LinkError(.identity, "\(node) speaks in the name of \(named)") }
    }
}
