import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import RoomProtocol
import Testing
import Transport
import WaitTestKit

@testable import ClusterRouting

/// A node as far as publications go: its links, what it sends and what it takes up. On the loop of the links.
final class RelayNode {
    let node: NodeID
    let link: ClusterLink
    var listener: TCPListener?
    private var intake: PublicationIntake?
    private let tree: PublicationTree
    private let changes: Changes
    private var readers: [NodeID: [LinkLane: NodePayloadReader]] = [:]
    /// What it was told, in order.
    private(set) var outputs: [RoomOutput] = []
    /// What else, in order.
    private(set) var others: [NodeMessage] = []
    /// Bytes of publications that have come.
    private(set) var publicationBytes = 0
    /// How often it was asked for bodies.
    private(set) var requests = 0
    /// Bodies that have come from each node.
    private(set) var bodies: [NodeID: Int] = [:]
    /// What is done in the turn in which a node is reached, for the so many-th time.
    var onUp: (NodeID, Int) -> Void = { _, _ in }
    private var ups = 0
    /// How often the connection of each node has ended.
    private(set) var ends: [NodeID: Int] = [:]

    init(_ hello: LinkHello, router: ClusterRouter, loop: EventLoop, changes: Changes) {
        node = hello.node
        self.changes = changes
        tree = router.tree
        var configuration = ClusterLinkConfiguration()
        configuration.courtesy = .zero
        link = ClusterLink(
            loop: loop, hello: hello, configuration: configuration,
            keys: LinkKeys(prove: { _ in [1] }, accepts: { proof, _ in proof == [1] }), tls: nil)
        intake = PublicationIntake(node, link: link, tree: tree) { [unowned self] message, _ in
            if case .publications(let publications) = message {
                outputs += publications.flatMap(\.outputs).map(\.output)
            }
            changes.note()
        }
        link.observe { [unowned self] event in
            switch event {
            case .up(let other, _, _, _):
                router.note(other, reachedBy: link.connection(to: other))
                readers[other] = [:]
                tree.reached(other)
                ups += 1
                onUp(other, ups)
            case .down(let other):
                intake?.onNodeLost(other)
                tree.onNodeLost(other)
                router.note(other, reachedBy: nil)
                ends[other, default: 0] += 1
            case .hasRoom, .failed: break
            }
            changes.note()
        }
        for lane in [LinkLane.calls, .publications] {
            link.onFrame(lane) { [unowned self] sender, payload in take(payload, lane, sender) }
        }
    }

    private func take(_ payload: [UInt8], _ lane: LinkLane, _ sender: NodeID) {
        do throws(NodeMessageError) {
            guard let message = try readers[sender, default: [:]][lane, default: NodePayloadReader()].read(payload)
            else { return }
            switch message {
            case .bodyRequest(let request):
                requests += 1
                intake?.answer(request, of: sender)
            case .pulses, .tallyRequest, .tallies, .recount, .uses:
                others.append(message)
                changes.note()
            case .body:
                bodies[sender, default: 0] += 1
                fallthrough
            default:
                publicationBytes += payload.count
                intake?.take(message, bytes: payload.count, from: sender)
            }
        } catch {
            Issue.record("\(sender) says what no node says: \(error)")
        }
    }

    /// Ends it as a crash would.
    func kill() {
        listener?.close()
        link.close()
    }
}

/// A node with links, as a test sees it from outside of the loop.
struct RelayStation: Sendable {
    let id: NodeID
    let port: Int
    let router: ClusterRouter
    let box: LoopBound<RelayNode>
    let changes: Changes

    /// - Parameters:
    ///   - links: the loop of its links.
    ///   - rooms: that of its rooms.
    static func start(
        _ name: String, boot: UInt64 = 1, links: EventLoop, rooms: EventLoop
    ) async throws -> RelayStation {
        let id = try #require(NodeID(name))
        let hello = LinkHello(cluster: "c1", node: id, store: 7, boot: boot, shards: 16)
        let (router, changes) = (ClusterRouter(node: id), Changes())
        let (box, link, port) = try await links.run { () throws(TransportError) in
            let node = RelayNode(hello, router: router, loop: links, changes: changes)
            let listener = try TCPListener(loop: links, host: "127.0.0.1", port: 0, reusePort: false) {
                node.link.accept($0)
            }
            node.listener = listener
            return (
                LoopBound(onLoop: node, loop: links), LoopBound(onLoop: node.link, loop: links), listener.port
            )
        }
        await router.connect(link, loops: [rooms])
        return RelayStation(id: id, port: port, router: router, box: box, changes: changes)
    }

    /// Runs `body` on the loop of the links.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (RelayNode) -> Value) async -> Value {
        await box.loop.run { body(box.value) }
    }

    /// Makes a connection to another one.
    func link(to other: RelayStation) async throws {
        await run { $0.link.know(other.id, host: "127.0.0.1", port: other.port) }
        for (station, id) in [(self, other.id), (other, id)] {
            _ = try await station.changes.wait(for: "\(station.id) is linked to \(id)") {
                await station.run { $0.link.reached.contains(id) } ? true : nil
            }
        }
    }

    /// What it was told, when it has been told so much.
    func outputs(_ count: Int) async throws -> [RoomOutput] {
        try await changes.wait(for: "\(count) outputs at \(id)") {
            let outputs = await run { $0.outputs }
            return outputs.count >= count ? outputs : nil
        }
    }
}

/// Runs `body` with a loop for links and one for rooms, which end afterwards with what is open on them.
func withLoops(_ body: (_ links: EventLoop, _ rooms: EventLoop) async throws -> Void) async throws {
    let (links, rooms) = (try EventLoop(name: "links"), try EventLoop(name: "rooms"))
    links.start()
    rooms.start()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(links, rooms))
    } catch {
        result = .failure(error)
    }
    // The ends of links are told to the rooms' loop.
    for loop in [links, rooms] {
        loop.shutdown()
        await loop.joined()
    }
    try result.get()
}
