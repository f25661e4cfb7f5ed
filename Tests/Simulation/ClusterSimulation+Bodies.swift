import ChatModel
import LinkCore
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

    /// What a room has for all nodes, in its loop's turn.
    func deliver(_ publications: [(NodeID, NodePublication)], from node: SimulatedNode) {
        node.bodies.forget(at: milliseconds)
        let own = id(of: node.number)
        let turn = Dictionary(publications.map { ($0.0, [$0.1]) }) { $0 + $1 }
        let messages = node.bodies.messages(of: turn, at: milliseconds) { $0 != own }
        for (receiver, messages) in messages.sorted(by: { $0.node < $1.node }) {
            for message in messages {
                if receiver == own {
                    hear(message, from: own, at: node)
                } else {
                    send(message, on: .publications, to: receiver, from: node)
                }
            }
        }
    }

    // MARK: - As `PublicationIntake`, on the first loop

    func takePublication(_ message: NodeMessage, bytes: Int, from sender: NodeID, at node: SimulatedNode) {
        switch message {
        case .body(let body):
            count("bodies")
            for (child, copy) in body.copies(from: id(of: node.number), childrenMax: Self.childrenMax) {
                if random.chance(20) { count("bodies lost") } else { offer(.body(copy), to: child, from: node) }
            }
            perform(node.awaitedBodies.came(body, at: milliseconds), node)
        case .bodiesGone(let names): perform(node.awaitedBodies.gone(names, from: sender), node)
        default:
            let message = sabotage == .skipsBodies ? withoutBodies(message) : message
            perform(node.awaitedBodies.came(message, bytes: bytes, from: sender, at: milliseconds), node)
        }
    }

    private func offer(
        _ message: NodeMessage, on lane: LinkLane = .publications, to other: NodeID, from node: SimulatedNode
    ) {
        for payload in NodePayload.payloads(of: message) { _ = offer(payload, on: lane, to: other, from: node) }
    }

    func answer(_ request: BodyNames, of asker: NodeID, at node: SimulatedNode) {
        for answer in node.bodies.answers(to: request) { offer(answer, to: asker, from: node) }
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
            case .hear(let message, let sender): hear(message, from: sender, at: node)
            case .ask(let origin, let names):
                count("bodies asked for")
                offer(.bodyRequest(names), on: .calls, to: origin, from: node)
            case .drop(let origin):
                count("links dropped for bodies")
                if let link = node.links.reachedBy[origin] {
                    dropLink(link.id, "what its publications name does not come", node)
                }
            }
        }
        guard !node.awaitedBodies.isIdle, !node.looksForBodies else { return }
        node.looksForBodies = true
        add(.bodyLook(node.number, run: node.run), in: .milliseconds(25))
    }

    func lookForBodies(_ node: SimulatedNode) {
        node.looksForBodies = false
        perform(node.awaitedBodies.look(at: milliseconds), node)
    }
}
