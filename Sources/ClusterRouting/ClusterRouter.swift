import ChatModel
import NodeLink
import Consensus
import EventLoop
import Gateway
import GroupDriver
import NodeLinkCore
import Relay
import Replication
import ReplicationDriver
import RoomProtocol
import Rooms
import Synchronization

/// Takes what the parts of this node have for each other, and for other nodes, to where it belongs: calls to leaders of
/// rooms, publications to gateways, consensus messages to other members of a group. `ClusterInbox` takes up messages
/// from other nodes.
package final class ClusterRouter: RoomRouter, PublicationSink, ConsensusTransport, ReplicationTransport, Sendable {
    /// The parts that it routes between, once they exist.
    struct Parts: Sendable {
        var rooms: RoomHost
        var calls: RoomCalls
        var gateway: Gateway
    }

    let node: NodeID
    package let leaders = ShardLeaders()
    /// For rooms with viewers on many nodes.
    let tree: PublicationTree
    private let parts = Mutex<Parts?>(nil)
    /// The sender of each loop; empty while this node is linked to no other.
    private let senders = Mutex<[LoopBound<LinkSender>]>([])
    private let link = Mutex<LoopBound<ClusterLink>?>(nil)

    package init(node: NodeID) {
        self.node = node
        tree = PublicationTree(node)
    }

    package func connect(_ rooms: RoomHost, _ calls: RoomCalls, _ gateway: Gateway) {
        parts.withLock { $0 = Parts(rooms: rooms, calls: calls, gateway: gateway) }
    }

    /// From here on other nodes are reached over `link`.
    package func connect(_ link: LoopBound<ClusterLink>, loops: [EventLoop]) async {
        var made: [LoopBound<LinkSender>] = []
        for loop in loops {
            made.append(
                await loop.run {
                    LoopBound(
                        onLoop: LinkSender(loop: loop, link: link) { parcels in
                            for parcel in parcels where Self.isStream(parcel.lane) {
                                link.loop.execute { link.value.drop(parcel, because: Self.doesNotKeepUp) }
                            }
                        }, loop: loop)
                })
        }
        senders.withLock { $0 = made }
        self.link.withLock { $0 = link }
        // Those that were reached before there was anybody to be told.
        await link.loop.run { [self] in
            for node in link.value.reached { note(node, reachedBy: link.value.connection(to: node)) }
        }
    }

    func certificate(of node: NodeID) async -> LinkCertificate? {
        guard let link = link.withLock({ $0 }) else { return nil }
        return await link.loop.run { link.value.certificate(of: node) }
    }

    var current: Parts? { parts.withLock { $0 } }

    // MARK: - Within the node

    package func route(_ requests: [RoomRequest], to node: NodeID, from lane: Int) {
        if node == self.node {
            current?.rooms.receive(requests)
        } else {
            send(.requests(requests), on: .calls, to: node)
        }
    }

    package func answer(_ answers: [NodeID: [ServerAnswer]]) {
        for (node, answers) in answers {
            if node == self.node {
                current?.calls.hear(answers, from: node)
            } else {
                send(.answers(answers), on: .publications, to: node)
            }
        }
    }

    package func deliver(_ turn: [NodeID: [NodePublication]]) {
        let own = turn[node]
        if let own { current?.gateway.deliver(own, from: node) }
        // With so few nodes, each is sent the bytes.
        guard turn.count - (own == nil ? 0 : 1) > RelayTree.childrenMax else {
            for (node, publications) in turn where node != self.node {
                send(.publications(publications), on: .publications, to: node)
            }
            return
        }
        for (node, messages) in tree.messages(of: turn) where node != self.node {
            for message in messages { send(message, on: .publications, to: node) }
        }
    }

    // MARK: - What lanes are told of themselves

    package func pulse(_ led: [ShardNotice], _ tallies: [NodeID: [ShardID: [LaneTally]]]) {
        func pulses(for node: NodeID) -> [ShardPulse] {
            led.map { ShardPulse(shard: $0.shard, term: $0.term, lanes: tallies[node]?[$0.shard] ?? []) }
        }
        hear(pulses(for: node), from: node)
        guard let sender = senderHere() else { return }
        for other in sender.reached {
            send(.pulses(pulses(for: other)), on: .publications, to: other)
        }
    }

    /// Tells the lanes of this node what a node says of the shards that it leads.
    func hear(_ pulses: [ShardPulse], from node: NodeID) {
        current?.calls.hear(pulses, from: node)
        current?.gateway.hear(pulses, from: node)
    }

    package func reaches(_ node: NodeID) -> Bool { node == self.node || tree.reaches(node) }

    package func notify(_ tallies: ShardTallies, to node: NodeID) {
        if node == self.node {
            current?.gateway.hear(tallies, from: node)
        } else {
            send(.tallies(tallies), on: .publications, to: node)
        }
    }

    package func replicate(_ update: PresenceUpdate, to nodes: [NodeID]) {
        let payloads = NodePayload.payloads(of: .presence(update))
        for node in nodes { send(payloads, on: .calls, to: node) }
    }

    package func ask(_ request: TallyRequest, of node: NodeID) {
        if node == self.node {
            current?.rooms.receive(request, from: node)
        } else {
            send(.tallyRequest(request), on: .calls, to: node)
        }
    }

    package func recount(_ recount: LaneRecount, at node: NodeID) {
        if node == self.node {
            current?.rooms.receive(recount, from: node)
        } else {
            send(.recount(recount), on: .calls, to: node)
        }
    }

    /// A node without room for it hears the next report: the connection stays, since its lane carries calls, too.
    package func notify(_ uses: [UserUse]) {
        let payloads = NodePayload.payloads(of: .uses(uses))
        onSender { sender in
            for node in sender.reached {
                for payload in payloads { _ = sender.send(payload, on: .calls, to: node) }
            }
        }
    }

    package func drop(_ node: NodeID) {
        onSender { sender in sender.drop(node, because: Self.isSilent) }
    }

    // MARK: - Leaders

    package func onLeading(_ notice: ShardNotice) {
        onLeaderKnown(notice, by: node)
        notifyAll([notice])
    }

    package func onLeadingEnded(_ shard: ShardID) {
        onLeaderLost(node, shard)
    }

    /// A node leads a shard (nil: any) no more, or can't be reached.
    func onLeaderLost(_ node: NodeID, _ shard: ShardID? = nil) {
        leaders.onNodeLost(node, shard)
        current?.calls.onLeaderLost(node, shard)
        current?.gateway.onLeaderLost(node, shard)
    }

    package func onLeaderConfirmed(_ leader: NodeID, _ notice: ShardNotice) {
        // One that does not serve yet says so itself when it does.
        guard leaders.note(leader, notice, isHeard: true) else { return }
        current?.calls.onLeaderConfirmed(notice, of: leader)
        current?.gateway.onLeaderConfirmed(notice, of: leader)
    }

    package func onLeaderSuspected(_ leader: NodeID, _ notice: ShardNotice) {
        guard leaders.note(leader, notice, isHeard: false) else { return }
        current?.calls.onLeaderSuspected(notice, of: leader)
        current?.gateway.onLeaderSuspected(notice, of: leader)
    }

    /// A node, maybe this one, leads a shard.
    func onLeaderKnown(_ notice: ShardNotice, by node: NodeID) {
        leaders.onLeader(node, notice)
        current?.calls.onLeaderKnown(notice, by: node)
        current?.gateway.onLeaderKnown(notice, by: node)
    }

    // MARK: - To other nodes

    package func send(_ messages: [RaftMessage]) {
        var byNode: [NodeID: [RaftMessage]] = [:]
        for message in messages {
            guard let node = NodeID(message.to.node) else { continue }
            byNode[node, default: []].append(message)
        }
        for (node, messages) in byNode {
            let frames = ConsensusFrames.frames(of: messages)
            onSender { sender in
                // Any may be lost, here or on the link's loop, and nobody is told: the core takes no message for
                // arrived, and asks again.
                for frame in frames { _ = sender.send(frame.payload, on: .consensus, to: node) }
            }
        }
    }

    /// Sends a message in order behind those of its lane. When the lane is full, the connection is ended: with its next
    /// beginning all that matters is said anew.
    func send(_ message: NodeMessage, on lane: LinkLane, to node: NodeID) {
        send(NodePayload.payloads(of: message), on: lane, to: node)
    }

    private func send(_ payloads: [[UInt8]], on lane: LinkLane, to node: NodeID) {
        onSender { sender in
            for payload in payloads where !sender.send(payload, on: lane, to: node) {
                if Self.isStream(lane) { sender.drop(node, because: Self.doesNotKeepUp) }
                return
            }
        }
    }

    /// One part of a transfer between replicas. False when it can't be taken now: it is offered again. True promises
    /// nothing: what another loop has taken the link may refuse or lose with its connection, and nobody is told. Both
    /// ends of a transfer ask again for what has not come (`SnapshotSink.tick`, `BackfillSink.tick`).
    package func send(_ message: ReplicationMessage, to node: NodeID) -> Bool {
        let payload = message.encoded
        guard let sender = senderHere() else {
            onSender { sender in _ = sender.send(payload, on: .bulk, to: node) }
            return true
        }
        return sender.send(payload, on: .bulk, to: node)
    }

    /// Tells a node, or all that are reached, what this node leads.
    func notify(_ notices: [ShardNotice], _ node: NodeID) {
        guard !notices.isEmpty else { return }
        send(.leads(notices), on: .publications, to: node)
    }

    private func notifyAll(_ notices: [ShardNotice]) {
        guard let link = link.withLock({ $0 }) else { return }
        let payloads = NodePayload.payloads(of: .leads(notices))
        let announce: @Sendable () -> Void = {
            // It is said once: who has no room for it hears it at the beginning of the next connection.
            for node in link.value.reached
            where !payloads.allSatisfy({ link.value.send($0, on: .publications, to: node) }) {
                link.value.drop(node, because: Self.doesNotKeepUp)
            }
        }
        if link.loop.isOnLoop { announce() } else { link.loop.execute(announce) }
    }

    /// A node is reached by that connection, or not any more (nil). Every loop hears it in its order with what else the
    /// link's loop tells it, which is the order of what happened: so what a loop sends goes out on the connection that
    /// it knows of, and nothing from before the end of one on the next, where those who hear it do not know what was
    /// lost before it. On the link's loop.
    func note(_ node: NodeID, reachedBy connection: LinkPeers.ConnectionID?) {
        for sender in senders.withLock({ $0 }) {
            // At once where the frames of the connection are taken up at once, too.
            if sender.loop.isOnLoop {
                sender.value.note(node, reachedBy: connection)
            } else {
                sender.loop.execute { sender.value.note(node, reachedBy: connection) }
            }
        }
    }

    /// Whether what comes on the lane has to be without holes.
    private static func isStream(_ lane: LinkLane) -> Bool { lane == .calls || lane == .publications }

    private static let isSilent = LinkError(.closed, "nothing is heard of the rooms that it leads")
    private static let doesNotKeepUp = LinkError(.closed, "the other node does not keep up")

    private func senderHere() -> LinkSender? {
        let all = senders.withLock { $0 }
        guard let here = all.first(where: { $0.loop.isOnLoop }) else { return nil }
        return here.value
    }

    /// The sender of this loop, or, on another thread, of the first one.
    private func onSender(_ body: @escaping @Sendable (LinkSender) -> Void) {
        let all = senders.withLock { $0 }
        if let here = all.first(where: { $0.loop.isOnLoop }) { return body(here.value) }
        guard let first = all.first else { return }
        first.loop.execute { body(first.value) }
    }
}
