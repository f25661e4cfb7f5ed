import ChatModel
import Consensus
import NodeLinkCore
import Logging
import Replication
import RoomProtocol
import Telemetry

/// Looks at what a node says, behind its proof and before anything is done with it: in whose name it speaks, and
/// whether the terms that it names can be. The node itself may be the enemy, or broken.
package struct PeerRefusals: Sendable {
    private let terms: Counter
    private let logger: Logger

    /// - Parameter terms: ``counter(in:)``.
    package init(terms: Counter, logger: Logger) {
        self.terms = terms
        self.logger = logger
    }

    /// The counter of messages that are refused here and by the groups themselves.
    package static func counter(in metrics: MetricsRegistry) -> Counter {
        metrics.counter(
            "chatroom_terms_refused_total",
            "Messages and notices of other nodes that named a term which no election leads to.")
    }

    /// Those that name no term above `RaftGroup.termMax`. The others are counted; a core would refuse them, too.
    func believable(_ messages: [RaftMessage], from node: NodeID) -> [RaftMessage] {
        believable(messages, from: node) { $0.highestTerm }
    }

    /// Leaves out notices of leaders with terms that are too high: after one of these, later leaders with lower terms would
    /// not be believed.
    func believable(_ notices: [ShardNotice], from node: NodeID) -> [ShardNotice] {
        believable(notices, from: node) { $0.term }
    }

    /// The same with who goes on leading.
    func believable(_ pulses: [ShardPulse], from node: NodeID) -> [ShardPulse] {
        believable(pulses, from: node) { $0.term }
    }

    /// The same with who is at a leader's node.
    func believable(_ updates: [PresenceUpdate], from node: NodeID) -> [PresenceUpdate] {
        believable(updates, from: node) { $0.term }
    }

    /// The same with a snapshot that comes, which has not been handed over yet.
    func admits(_ message: ReplicationMessage, from node: NodeID) -> Bool {
        guard case .beginSnapshot(let mark) = message.body else { return true }
        return !believable([mark], from: node) { $0.term }.isEmpty
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

    /// Why a node may not ask this. It passes on what operators and apps ask of it, as every node does for the whole
    /// cluster; but of nodes it says only what it is itself, with the store that it has proved itself with.
    static func refusal(of question: NodeQuestion, from node: NodeID, store: UInt64) -> ChatError? {
        let record: NodeRecord
        switch question {
        case .join(let joining), .propose(.addNode(let joining), _): record = joining
        case .propose(.createCluster, _): return ChatError(.forbidden, "\(node) can't create a cluster that there is")
        default: return nil
        }
        guard record.node != node || record.store != store else { return nil }
        return ChatError(.forbidden, "\(node) can take in nobody but itself, with the data that it has", field: "node")
    }

    /// Sessions call from the node that holds them, and nobody gets another node listed.
    /// - Throws: `identity` for what names another node as its sender.
    static func check(_ message: NodeMessage, from node: NodeID) throws(LinkError) {
        let named: NodeID?
        switch message {
        case .requests(let requests): named = requests.first { $0.node != node }?.node
        case .question(_, .join(let record)): named = record.node == node ? nil : record.node
        case .question(_, .devices(let news)): named = news.node == node ? nil : news.node
        case .presence(let update): named = update.node == node ? nil : update.node
        case .answers, .publications, .leads, .question, .answer, .body, .bodyRequest, .bodiesGone, .pulses,
            .tallyRequest, .tallies, .recount, .uses, .takenOver:
            named = nil
        }
        if let named { throw LinkError(.identity, "\(node) speaks in the name of \(named)") }
    }
}
