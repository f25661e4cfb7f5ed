import ChatModel
import NodeLink
import Consensus
import EventLoop
import Swim
import SwimDriver
import NodeLinkCore
import Logging
import Rooms
import SystemGroupHost

/// This node's links to the others: the driver on its loop, and what happens to it in the log.
final class ClusterLinks: Sendable {
    /// On the loop of gossip, whose port it shares.
    let link: LoopBound<ClusterLink>

    private init(_ link: LoopBound<ClusterLink>) { self.link = link }

    /// Begins on `loop`, with nobody to call yet. `setUp` registers observers and receivers, on the loop.
    static func start(
        _ configuration: NodeConfiguration, tls: LinkTLS?, cluster: ClusterIdentity, server: ServerID, ring: KeyRing,
        loop: EventLoop,
        logger: Logger, setUp: @escaping @Sendable (ClusterLink) -> Void
    ) async throws(NodeError) -> ClusterLinks {
        var hello = LinkHello(
            cluster: cluster.id, node: configuration.node, store: server.store, boot: .random(in: 0 ... .max),
            shards: UInt32(cluster.shardCount))
        hello.level = configuration.levelMax
        return await loop.run { [hello] in
            let link = ClusterLink(
                loop: loop, hello: hello, configuration: ClusterLinkConfiguration(), keys: LinkKeys(ring), tls: tls)
            var complaints = LinkComplaints()
            link.observe { note($0, &complaints, logger) }
            setUp(link)
            return ClusterLinks(LoopBound(onLoop: link, loop: loop))
        }
    }

    /// Asks one of the seeds after the other which cluster this is: for a node that has no data yet.
    static func askIdentity(_ configuration: NodeConfiguration, ring: KeyRing, loop: EventLoop) async throws(NodeError)
        -> (cluster: String, shards: UInt32)
    {
        let tls = try configuration.linkTLS?.read(for: configuration.node)
        var reasons: [String] = []
        // The programs that can't do each other's level, as none of which has proved who it is: one alone is not believed
        // where there are others.
        var misfits: [String] = []
        for seed in configuration.linkSeeds {
            guard let (host, port) = seed.hostAndPort else { continue }
            do throws(LinkError) {
                return try await ClusterLink.askIdentity(
                    loop: loop, host: host, port: port, keys: LinkKeys(ring),
                    tls: tls, node: configuration.node, level: configuration.levelMax)
            } catch {
                if error.code == .level { misfits.append(error.message) }
                reasons.append("\(seed): \(error)")
            }
        }
        // Asking again would not help.
        if let first = misfits.first, misfits.count == reasons.count { throw NodeError(.version, first) }
        throw NodeError(.address, "no seed says which cluster this is: \(reasons.joined(separator: "; "))")
    }

    /// New connections show and ask for other certificates. A link without TLS stays so until the next start.
    func use(_ tls: LinkTLS) async { await link.loop.run { [link] in link.value.use(tls) } }

    /// New connections are proved with other keys; `KeyRing` says in which order to rotate.
    func use(_ ring: KeyRing) async { await link.loop.run { [link] in link.value.use(LinkKeys(ring)) } }

    /// Calls a node that is there, as others say.
    func hurry(_ node: NodeID) { link.loop.execute { [link] in link.value.hurry(node) } }

    /// Ends all links without a word.
    func stop() async { await link.loop.run { [link] in link.value.close() } }

    private static func note(_ event: LinkEvent, _ complaints: inout LinkComplaints, _ logger: Logger) {
        switch event {
        // Those with a node that was taken out and runs on last for a moment each.
        case .up(let node, _, _, _):
            complaints.noteUp(node)
            let isOut = complaints.isOut(node, at: .now)
            logger.log(level: isOut ? .debug : .info, "link is up", metadata: ["peer": "\(node)"])
        case .down(let node):
            let isOut = complaints.isOut(node, at: .now)
            var metadata: Logger.Metadata = ["peer": "\(node)"]
            metadata["error"] = complaints.noteDown(node, at: .now).map { "\($0)" }
            logger.log(level: isOut ? .debug : .warning, "link is down", metadata: metadata)
        case .failed(let node, let error, let isProven):
            let metadata: Logger.Metadata = ["peer": "\(node?.text ?? "?")", "code": "\(error.code.rawValue)"]
            switch error.code {
            // An error that passes by itself, and is tried again.
            case .closed, .timedOut:
                if let node, complaints.noteUnreached(node, error, at: .now) {
                    logger.warning("a node is not reached: \(error)", metadata: metadata)
                } else {
                    logger.debug("link: \(error)", metadata: metadata)
                }
            case .duplicate: logger.debug("link: \(error)", metadata: metadata)
            case .malformed, .version, .level, .cluster, .identity, .proof, .removed, .taken, .shards:
                guard complaints.admit(node, error.code, isProven: isProven, at: .now) else { return }
                logger.warning("link: \(error)", metadata: metadata)
            }
        case .hasRoom: break
        }
    }
}

extension LinkKeys {
    /// The cluster's keys.
    init(_ ring: KeyRing) {
        self.init(prove: { ring.proof(of: $0) }, accepts: { ring.isProof($0, of: $1) })
    }
}
