import ChatModel
import Consensus
import Gossip

/// Gossip cores on the same network and clock.
extension ClusterSimulation {
    func startGossip(_ node: SimulatedNode) {
        // In earnest the wall clock in seconds.
        node.gossip = SimulatedGossip(
            number: node.number, store: node.store, incarnation: UInt64(node.run) * 100, now: now,
            seed: random.next())
        let seeds = nodes.map(\.number).filter { $0 != node.number }
        gossip(node) { core, _ in core.join(seeds.map(SimulatedGossip.address)) }
    }

    func gossipTick(_ node: SimulatedNode) {
        guard let due = node.gossip?.tickAt, due <= now else { return }
        node.gossip?.tickAt = nil
        gossip(node) { $0.tick(now: $1) }
    }

    func gossip(_ node: SimulatedNode, _ body: (inout GossipMembership, Duration) -> Void) {
        guard var gossip = node.gossip else { return }
        node.gossip = nil
        body(&gossip.core, now)
        let due = max(gossip.core.nextTick ?? .seconds(3_600), now) + .milliseconds(2)
        if gossip.tickAt.map({ due < $0 }) ?? true {
            gossip.tickAt = due
            add(.gossipTick(node.number, run: node.run), in: due - now)
        }
        let effects = gossip.core.takeEffects()
        node.gossip = gossip
        for effect in effects { perform(effect, node) }
    }

    private func perform(_ effect: GossipEffect, _ node: SimulatedNode) {
        switch effect {
        case .send(let messages, let address):
            sendGossip(.gossip(messages), from: node.number, to: address)
        case .pushPull(let address):
            guard let records = node.gossip?.core.records else { return }
            sendGossip(.pushPull(records, isQuestion: true), from: node.number, to: address)
        case .notify(.failed(let other)): node.deadSince[other.text] = now
        case .notify(.joined(let member)): node.deadSince[member.node.text] = nil
        case .notify: break
        }
    }

    private func sendGossip(_ packet: Packet, from: Int, to address: GossipAddress) {
        guard let to = SimulatedGossip.number(address) else { return }
        if sabotage == .cutsGossip, (from == 0) != (to == 0) { return }
        send(packet, from: from, to: to)
    }

    /// Everybody who runs holds exactly those for alive that run.
    var isGossipConverged: Bool {
        let running = Set(nodes.filter(\.isUp).map { SimulatedGossip.id($0.number) })
        return nodes.filter(\.isUp).allSatisfy { node in
            node.gossip.map { Set($0.core.alive.map(\.node)) == running } ?? false
        }
    }
}
