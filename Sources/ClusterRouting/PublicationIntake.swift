import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Relay
import RoomProtocol

/// Takes up what other nodes publish, in the order of each, when all bodies that it names are there; passes bodies on
/// to those below in the tree, and asks for those that do not come. Drives `AwaitedBodies`, on the link's loop.
final class PublicationIntake {
    private let node: NodeID
    private unowned let link: ClusterLink
    private let tree: PublicationTree
    private let hear: (NodeMessage, NodeID) -> Void
    private var awaited = AwaitedBodies()
    private var timer: LoopTimer?

    /// - Parameter hear: is given what is complete.
    init(_ node: NodeID, link: ClusterLink, tree: PublicationTree, hear: @escaping (NodeMessage, NodeID) -> Void) {
        self.node = node
        self.link = link
        self.tree = tree
        self.hear = hear
    }

    /// A message has come on the lane for publications, of so many bytes.
    func take(_ message: NodeMessage, bytes: Int, from sender: NodeID) {
        switch message {
        case .body(let body): take(body)
        case .bodiesGone(let names): perform(awaited.gone(names, from: sender))
        default: perform(awaited.came(message, bytes: bytes, from: sender, at: link.loop.nowMilliseconds))
        }
    }

    private func take(_ body: RelayedBody) {
        guard body.origin != node else { return }
        var leaf: [[UInt8]]?
        for (child, copy) in body.copies(from: node) {
            // All leaves are sent the same.
            let payloads = copy.descendants.isEmpty ? leaf ?? NodePayload.payloads(of: .body(copy)) : nil
            if leaf == nil { leaf = payloads }
            offer(payloads ?? NodePayload.payloads(of: .body(copy)), to: child)
        }
        perform(awaited.came(body, at: link.loop.nowMilliseconds))
    }

    /// A node lacks bodies that this one has named.
    func answer(_ request: BodyNames, of asker: NodeID) {
        for answer in tree.answers(to: request) { offer(NodePayload.payloads(of: answer), to: asker) }
    }

    /// The connection to the node has ended.
    func onNodeLost(_ node: NodeID) { awaited.onNodeLost(node) }

    /// Bodies take only half of a lane: what else goes there must not find it full, since that ends the connection.
    /// Nobody is told of a body that does not fit; it is asked for, again if need be.
    private func offer(_ payloads: [[UInt8]], to node: NodeID) {
        for payload in payloads {
            let waiting = link.waitingBytes(on: .publications, to: node)
            guard waiting + payload.count <= LinkLane.publications.queueBytesMax / 2 else { return }
            guard link.send(payload, on: .publications, to: node) else { return }
        }
    }

    private func perform(_ effects: [AwaitedBodies.Effect]) {
        for effect in effects {
            switch effect {
            case .hear(let message, let sender): hear(message, sender)
            case .ask(let origin, let names):
                for payload in NodePayload.payloads(of: .bodyRequest(names)) {
                    // One that is not taken is repeated.
                    _ = link.send(payload, on: .calls, to: origin)
                }
            case .drop(let origin): link.drop(origin, because: Self.bodiesAreLost)
            }
        }
        setTimer()
    }

    /// Between two looks at what is awaited.
    private static let lookMilliseconds: UInt64 = 25
    private static let bodiesAreLost = LinkError(.closed, "what its publications name does not come")

    private func setTimer() {
        guard timer == nil, !awaited.isIdle else { return }
        timer = link.loop.schedule(afterMilliseconds: Self.lookMilliseconds) { [weak self] in
            guard let self else { return }
            timer = nil
            perform(awaited.look(at: link.loop.nowMilliseconds))
        }
    }
}
