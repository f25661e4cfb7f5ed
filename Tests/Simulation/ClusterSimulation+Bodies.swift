import ChatModel
import RoomLink

/// Frames whose bytes go from node to node, though the publications that show them come straight from the leader. Few
/// nodes are enough for that here: one sends a body to one other.
extension ClusterSimulation {
    static let childrenMax = 1

    static func bodies(of node: SimulatedNode) -> SharedBodies {
        var limits = SharedBodies.Limits()
        limits.childrenMax = childrenMax
        limits.bodyBytes = 1...1 << 20
        // So few that who asks late is told that they are gone.
        limits.keptMilliseconds = 400
        return SharedBodies(origin: SimulatedGossip.id(node.number), life: UInt64(node.run), limits: limits)
    }

    /// What a room has for all nodes.
    func deliver(_ publications: [(NodeID, NodePublication)], from node: SimulatedNode) {
        node.bodies.forget(at: milliseconds)
        let own = id(of: node.number)
        let turn = Dictionary(uniqueKeysWithValues: publications.map { ($0.0, [$0.1]) })
        let messages = node.bodies.messages(of: turn, at: milliseconds) { $0 != own }
        for (receiver, messages) in messages.sorted(by: { $0.node < $1.node }) {
            for message in messages { send(message, from: node, to: receiver) }
        }
    }

    private func send(_ message: NodeMessage, from node: SimulatedNode, to receiver: NodeID) {
        guard let to = nodes.firstIndex(where: { id(of: $0.number) == receiver }) else { return }
        sendOverLink(.node(message), from: node, to: to)
    }

    func hear(_ message: NodeMessage, from: Int, at node: SimulatedNode) {
        switch message {
        case .body(let body):
            count("bodies")
            for (child, copy) in body.copies(from: id(of: node.number), childrenMax: Self.childrenMax) {
                if random.chance(20) { count("bodies lost") } else { send(.body(copy), from: node, to: child) }
            }
            perform(node.lane.bodies.came(body, at: milliseconds), node)
        case .bodyRequest(let request):
            for answer in node.bodies.answers(to: request) { send(answer, from: node, to: id(of: from)) }
        case .bodiesGone(let names): perform(node.lane.bodies.gone(names, from: id(of: from)), node)
        default:
            let message = sabotage == .skipsBodies ? withoutBodies(message) : message
            perform(node.lane.bodies.came(message, bytes: 100, from: id(of: from), at: milliseconds), node)
        }
    }

    private func withoutBodies(_ message: NodeMessage) -> NodeMessage {
        guard case .publications(var publications) = message else { return message }
        for number in publications.indices {
            publications[number].outputs.removeAll { if case .shared = $0 { true } else { false } }
        }
        return .publications(publications)
    }

    private func perform(_ effects: [AwaitedBodies.Effect], _ node: SimulatedNode) {
        for effect in effects {
            switch effect {
            case .hear(.publications(let publications), let sender):
                guard let from = nodes.firstIndex(where: { id(of: $0.number) == sender }) else { continue }
                for (_, parts) in NodePublication.byLane(publications) {
                    for part in parts { perform(part, from: from, at: node) }
                }
            case .hear(.leads(let notices), let sender):
                guard let from = nodes.firstIndex(where: { id(of: $0.number) == sender }) else { continue }
                for notice in notices { isLed(notice, by: from, at: node) }
            case .hear: continue
            case .ask(let origin, let names):
                count("bodies asked for")
                send(.bodyRequest(names), from: node, to: origin)
            case .drop(let origin):
                count("links dropped for bodies")
                if let other = nodes.firstIndex(where: { id(of: $0.number) == origin }) {
                    linkEnded(at: node, with: other)
                }
            }
        }
        guard !node.lane.bodies.isIdle, !node.lane.looksForBodies else { return }
        node.lane.looksForBodies = true
        add(.bodyLook(node.number, run: node.run), in: .milliseconds(25))
    }

    func lookForBodies(_ node: SimulatedNode) {
        node.lane.looksForBodies = false
        perform(node.lane.bodies.look(at: milliseconds), node)
    }
}
