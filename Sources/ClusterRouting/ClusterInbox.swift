import ChatModel
import NodeLink
import Consensus
import Gateway
import NodeLinkCore
import Replication
import RoomProtocol
import Rooms
import SystemGroupHost

/// Takes up what other nodes send. On the link's loop; everything is handed on to where it belongs.
package final class ClusterInbox {
    private let router: ClusterRouter
    private let system: SystemGroup
    private let nodes: ClusterNodes
    private let refusals: PeerRefusals
    /// The stores of the nodes that are reached.
    private var stores: [NodeID: UInt64] = [:]
    private var readers: [NodeID: [LinkLane: NodePayloadReader]] = [:]
    /// The intake of publications, from `attach` on.
    private var intake: PublicationIntake?

    package init(router: ClusterRouter, system: SystemGroup, nodes: ClusterNodes, refusals: PeerRefusals) {
        self.refusals = refusals
        self.router = router
        self.system = system
        self.nodes = nodes
    }

    /// Registers with the link, before it reaches anybody.
    package func attach(to link: ClusterLink) {
        let intake = PublicationIntake(router.node, link: link, tree: router.tree) { [unowned self] message, node in
            hear(message, from: node)
        }
        self.intake = intake
        link.observe { [self, unowned link] event in note(event, of: link) }
        link.onFrame(.consensus) { [self, unowned link] node, payload in
            do throws(LinkError) {
                guard let store = stores[node] else { return }
                let messages = try ConsensusFrames.messages(in: payload, from: node, store: store)
                hear(refusals.believable(messages, from: node))
            } catch {
                link.drop(node, because: error)
            }
        }
        for lane in [LinkLane.calls, .publications] {
            link.onFrame(lane) { [self, unowned link] node, payload in
                do throws(NodeMessageError) {
                    let message = try readers[node, default: [:]][lane, default: NodePayloadReader()].read(payload)
                    guard let message else { return }
                    do throws(LinkError) {
                        try PeerRefusals.check(message, from: node)
                    } catch {
                        return link.drop(node, because: error)
                    }
                    if lane == .publications {
                        intake.take(message, bytes: payload.count, from: node)
                    } else if case .publications = message {
                        // Nobody would wait for the bodies that they may name.
                        throw NodeMessageError(.malformed, "publications on the lane for calls")
                    } else {
                        hear(message, from: node)
                    }
                } catch {
                    link.drop(node, because: LinkError(.malformed, error.message))
                }
            }
        }
        link.onFrame(.bulk) { [self, unowned link] node, payload in
            do throws(ReplicationError) {
                let message = try ReplicationMessage(decoding: payload)
                guard refusals.admits(message, from: node) else { return }
                if message.group == .system {
                    system.receive(replication: message, from: node)
                } else {
                    router.current?.rooms.receive(replication: message, from: node)
                }
            } catch {
                link.drop(node, because: LinkError(.malformed, error.message))
            }
        }
    }

    private func note(_ event: LinkEvent, of link: ClusterLink) {
        switch event {
        case .up(let node, _, _, let store):
            stores[node] = store
            // Before anything is sent because of it, on every loop.
            router.note(node, reachedBy: link.connection(to: node))
            // Before anything that is said to its sessions.
            let taken = nodes.taken(since: node)
            if !taken.isEmpty { router.send(.takenOver(taken), on: .publications, to: node) }
            readers[node] = [:]
            router.tree.reached(node)
            nodes.note(node, isReached: true)
            router.current?.gateway.reached(node)
            system.reached(node)
            router.current?.rooms.reached(node)
            let router = router
            Task { router.notify(await router.current?.rooms.notices() ?? [], node) }
        case .down(let node):
            stores[node] = nil
            // Before anything of the next connection, on every loop.
            router.note(node, reachedBy: nil)
            readers[node] = nil
            intake?.onNodeLost(node)
            router.tree.onNodeLost(node)
            nodes.note(node, isReached: false)
            router.current?.gateway.onNodeLost(node)
            router.onLeaderLost(node)
            router.current?.rooms.onNodeLost(node)
            system.onNodeLost(node)
            nodes.questions.onNodeLost(node)
        case .hasRoom, .failed: break
        }
    }

    private func hear(_ messages: [RaftMessage]) {
        let ofSystem = messages.filter { $0.group == .system }
        if !ofSystem.isEmpty { system.receive(ofSystem) }
        if ofSystem.count < messages.count {
            router.current?.rooms.receive(messages.filter { $0.group != .system })
        }
    }

    private func hear(_ message: NodeMessage, from node: NodeID) {
        switch message {
        case .requests(let requests):
            router.current?.rooms.receive(requests)
        case .answers(let answers):
            router.current?.calls.hear(answers, from: node)
        case .publications(let publications):
            router.current?.gateway.deliver(publications, from: node)
        case .leads(let notices):
            for notice in refusals.believable(notices, from: node) { router.onLeaderKnown(notice, by: node) }
        case .question(let id, let question):
            let (router, nodes) = (router, nodes)
            guard let store = stores[node] else { return }
            if let refusal = PeerRefusals.refusal(of: question, from: node, store: store) {
                return router.send(.answer(id: id, .failure(refusal)), on: .calls, to: node)
            }
            Task { router.send(.answer(id: id, await nodes.answer(question)), on: .calls, to: node) }
        case .answer(let id, let result):
            nodes.questions.end(id, of: node, result)
        case .pulses(let told):
            let pulses = refusals.believable(told, from: node)
            for pulse in pulses {
                router.leaders.onLeaderStill(node, ShardNotice(shard: pulse.shard, term: pulse.term))
            }
            router.hear(pulses, from: node)
        case .tallyRequest(let request): router.current?.rooms.receive(request, from: node)
        case .tallies(let tallies): router.current?.gateway.hear(tallies, from: node)
        case .recount(let recount): router.current?.rooms.receive(recount, from: node)
        case .uses(let uses): router.current?.gateway.hear(uses)
        case .takenOver(let sessions): router.current?.gateway.end(copiesOf: sessions)
        case .presence(let update):
            for update in refusals.believable([update], from: node) { router.current?.rooms.receive(update) }
        case .bodyRequest(let request): intake?.answer(request, of: node)
        // Taken by the intake.
        case .body, .bodiesGone: break
        }
    }
}
