import ChatModel
import ClusterRouting
import Consensus
import EventLoop
import Gateway
import NodeLink
import RoomProtocol
import Rooms
import Swim
import Synchronization
import SystemGroupHost

/// A node among others: how it joins its cluster, and how it goes.
extension ChatroomNode {
    typealias Links = (links: ClusterLinks, gossip: ClusterGossip)

    /// How long a node that stops waits for others to take over what it leads.
    private static let transferLimit = Duration.seconds(3)

    /// Begins to speak to other nodes. A node without cluster keys speaks to none.
    func join(
        _ common: Common, _ system: SystemGroup, _ services: inout StartedServices
    ) async throws -> NodeMembership {
        let (node, router, nodes, server) = (configuration.node, common.router, common.nodes, common.server)
        guard let ring = try KeysFile.read(configuration.keysFile).clusterRing() else {
            guard configuration.linkSeeds.isEmpty else { throw Self.seedsWithoutKey }
            let alone = NodeMembership(
                common.directory, system: system, cluster: common.cluster, nodes: nodes, link: nil, logger: logger)
            await alone.follow(node)
            return alone
        }
        let tls = try configuration.linkTLS?.read(for: configuration.node)
        certificates.note(tls?.validity, .link, at: WallClock.now(), logger)
        let refusals = PeerRefusals(terms: common.refusedTerms, logger: logger)
        let links = try await services.open(close: { await $0.stop() }) {
            try await ClusterLinks.start(
                configuration, tls: tls, cluster: common.identity, server: server, ring: ring, loop: common.loops[0],
                logger: logger
            ) { link in
                ClusterInbox(router: router, system: system, nodes: nodes, refusals: refusals).attach(to: link)
            }
        }
        await router.connect(links.link, loops: common.loops)
        let membership = NodeMembership(
            common.directory, system: system, cluster: common.cluster, nodes: nodes, link: links.link, logger: logger)
        let gossip = try await services.open(close: { [self] _ in await leaveCluster() }) {
            try await ClusterGossip.start(
                configuration, ring: ring, store: server.store, loop: common.loops[0], links: links, logger: logger
            ) { records in
                membership.heard(records, own: node)
            }
        }
        self.links.withLock { $0 = (links, gossip) }
        await membership.follow(node)
        return membership
    }

    /// Transfers what this node leads, then sends its clients to others, all while it still serves (PROTOCOL.md,
    /// "Moving").
    func transferAndDrain(_ rooms: RoomHost, _ system: SystemGroup, gateway: Gateway, nodes: ClusterNodes) async {
        await plannedStop.run { [plannedStop] in
            // Others lead before clients go there.
            await rooms.transferAllLeaderships(within: Self.transferLimit)
            await system.transferLeadership(isStopping: true)
            plannedStop.beginSendingAway()
            await gateway.drain(toOthers: !nodes.reached.isEmpty)
        }
    }

    /// Says good-bye. Nobody waits for an answer of another node afterwards, since the loops end on which answers are taken.
    func leave(_ nodes: ClusterNodes) async {
        // The last words of closing connections and rooms are on their way to others.
        try? await Task.sleep(for: .milliseconds(200))
        await leaveCluster()
        nodes.questions.endAll()
    }

    /// Does nothing when it was done.
    private func leaveCluster() async {
        let links = links.withLock { exchange(&$0, with: nil) }
        await links?.gossip.stop()
        await links?.links.stop()
    }

    /// Lets gossip tell what this node leads, and how full it is.
    func notify(_ gossip: ClusterGossip?, _ rooms: RoomHost, _ gateway: Gateway) {
        let connectionsMax = configuration.gateway.connections.connectionsMax
        gossip?.notify {
            let connections = await gateway.counts().connections
            return (
                leads: await rooms.notices().map { ShardLead(shard: $0.shard, term: $0.term) },
                load: UInt16(clamping: connections * 1_000 / max(connectionsMax, 1))
            )
        }
    }
}
