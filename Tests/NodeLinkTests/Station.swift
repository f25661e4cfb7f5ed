import ChatModel
import NodeLink
import EventLoop
import SwimDriver
import NodeLinkCore
import Testing
import Transport
import WaitTestKit

/// A node's link and what it told, on a loop.
final class Recorded {
    struct Arrival: Sendable, Hashable {
        var node: NodeID
        var lane: LinkLane
        var payload: [UInt8]
    }

    let link: ClusterLink
    var listener: TCPListener?
    var events: [LinkEvent] = []
    var arrivals: [Arrival] = []
    /// Lanes whose frames are not dealt with until `release`.
    var heldLanes: Set<LinkLane> = []
    private var held: [LinkReceipt] = []

    init(_ link: ClusterLink) { self.link = link }

    func take(_ node: NodeID, _ lane: LinkLane, _ payload: [UInt8], _ receipt: LinkReceipt) {
        arrivals.append(Arrival(node: node, lane: lane, payload: payload))
        if heldLanes.contains(lane) { held.append(receipt) } else { link.dealt(receipt) }
    }

    func release() {
        heldLanes = []
        for receipt in held { link.dealt(receipt) }
        held = []
    }

    func payloads(_ lane: LinkLane, from node: NodeID) -> [[UInt8]] {
        arrivals.filter { $0.lane == lane && $0.node == node }.map(\.payload)
    }

    /// Ends it as a crash would.
    func kill() {
        listener?.close()
        link.close()
    }
}

/// A node with a link port of its own, as a test sees it from outside of the loop.
struct Station: Sendable {
    let id: NodeID
    let port: Int
    let box: LoopBound<Recorded>
    let changes: Changes

    static func node(_ name: String) -> NodeID {
        guard let node = NodeID(name) else { preconditionFailure("\(name) is no node") }
        return node
    }

    static func hello(_ name: String, boot: UInt64 = 1) -> LinkHello {
        LinkHello(cluster: "c1", node: node(name), store: 7, boot: boot, shards: 16)
    }

    /// Both sides may call at once.
    static var eager: ClusterLinkConfiguration {
        var configuration = ClusterLinkConfiguration()
        configuration.courtesy = .zero
        return configuration
    }

    /// Cluster keys, the first of which proves.
    static func keys(_ numbers: UInt8...) -> LinkKeys {
        guard let ring = KeyRing(numbers.map { [UInt8](repeating: $0, count: KeyRing.keyBytes) }) else {
            preconditionFailure("\(numbers) make no ring")
        }
        return LinkKeys(prove: { ring.proof(of: $0) }, accepts: { ring.isProof($0, of: $1) })
    }

    static func start(
        _ hello: LinkHello, on loop: EventLoop, port: Int = 0, keys: LinkKeys = keys(1), tls: LinkTLS? = nil,
        configuration: ClusterLinkConfiguration = eager
    ) async throws -> Station {
        let changes = Changes()
        let (box, port) = try await loop.run { () throws(TransportError) in
            let link = ClusterLink(loop: loop, hello: hello, configuration: configuration, keys: keys, tls: tls)
            let recorded = record(link, changes)
            let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: port, reusePort: false) {
                link.accept($0)
            }
            recorded.listener = listener
            return (LoopBound(onLoop: recorded, loop: loop), listener.port)
        }
        return Station(id: hello.node, port: port, box: box, changes: changes)
    }

    static func record(_ link: ClusterLink, _ changes: Changes) -> Recorded {
        let recorded = Recorded(link)
        link.observe { [weak recorded] event in
            recorded?.events.append(event)
            changes.note()
        }
        for lane in LinkLane.allCases where lane != .control {
            link.onHeldFrame(lane) { [weak recorded] node, payload, receipt in
                recorded?.take(node, lane, payload, receipt)
                changes.note()
            }
        }
        return recorded
    }

    /// Runs `body` on the loop.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (Recorded) -> Value) async -> Value {
        await box.loop.run { body(box.value) }
    }

    /// Waits until something that it has told makes `check` true.
    func wait(_ what: String, _ check: @escaping @Sendable (Recorded) -> Bool) async throws {
        _ = try await changes.wait(for: "\(id): \(what)") { await run(check) ? true : nil }
    }

    func send(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) async -> Bool {
        await run { $0.link.send(payload, on: lane, to: node) }
    }

    func payloads(_ lane: LinkLane, from node: NodeID) async -> [[UInt8]] {
        await run { $0.payloads(lane, from: node) }
    }

    var events: [LinkEvent] {
        get async { await run { $0.events } }
    }

    var reached: [NodeID] {
        get async { await run { $0.link.reached } }
    }

    var connectionCount: Int {
        get async { await run { $0.link.connectionCount } }
    }

    func know(_ other: Station) async {
        await run { $0.link.know(other.id, host: "127.0.0.1", port: other.port) }
    }

    func up(_ other: NodeID) async throws {
        try await wait("\(other) up") { $0.link.reached.contains(other) }
    }

    /// Waits until it has told that the node is down; who calls it again may have it up by then.
    func down(_ other: NodeID) async throws {
        try await wait("\(other) down") { $0.events.contains(.down(other)) }
    }

    /// Waits for a connection that came to nothing for that reason.
    func failed(_ node: NodeID?, _ code: LinkError.Code) async throws {
        try await wait("\(code) of \(node?.text ?? "somebody")") { recorded in
            recorded.events.contains {
                if case .failed(let other, let error, _) = $0 { other == node && error.code == code } else { false }
            }
        }
    }
}

/// Runs `body` with a loop that has started, and ends the loop afterwards, which closes what is open on it.
func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "link")
    loop.start()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(loop))
    } catch {
        result = .failure(error)
    }
    loop.shutdown()
    await loop.joined()
    try result.get()
}
