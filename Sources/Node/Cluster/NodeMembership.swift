import ChatModel
import NodeLink
import ClusterRouting
import EventLoop
import Gateway
import Swim
import GroupDriver
import Logging
import SwimDriver
import RoomProtocol
import Rooms
import Synchronization
import SystemGroupHost

/// This node as one of its cluster's: gets itself listed, knows where the others are, and goes when it is drained.
final class NodeMembership: Sendable {
    private let directory: DataDirectory
    private let system: SystemGroup
    private let cluster: ClusterView
    private let nodes: ClusterNodes
    private let link: LoopBound<ClusterLink>?
    private let logger: Logger
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let known = KnownNodes()
    private let hearing = Mutex(Hearing())

    /// Whether the system group's leader is heard, which a majority has elected.
    private struct Hearing {
        var hasBegun = false
        var isCutOff = false
        /// Whether the others may have a majority without this node, while it hears none.
        var isMinority = false
        /// When the leader was heard last.
        var heardAt = ContinuousClock.now
        /// When each other node was reached last.
        var reachedAt: [NodeID: ContinuousClock.Instant] = [:]

        mutating func note(reached: Set<NodeID>, isHeard: Bool, at now: ContinuousClock.Instant) {
            if isHeard { heardAt = now }
            for node in reached { reachedAt[node] = now }
            reachedAt = reachedAt.filter { $0.value >= heardAt - Self.linksTime }
        }

        /// The nodes that were reached when the cut came: others had been away before it.
        var reachedBefore: Set<NodeID> { Set(reachedAt.keys) }

        /// A leader is missed, and a link, within some seconds of each other.
        private static let linksTime = Duration.seconds(10)
    }

    init(
        _ directory: DataDirectory, system: SystemGroup, cluster: ClusterView, nodes: ClusterNodes,
        link: LoopBound<ClusterLink>?, logger: Logger
    ) {
        self.directory = directory
        self.system = system
        self.cluster = cluster
        self.nodes = nodes
        self.link = link
        self.logger = logger
    }

    /// Follows the list of nodes, for good.
    func follow(_ own: NodeID) async {
        let (cluster, link, known, system) = (cluster, link, known, system)
        await system.observe { change in
            let records: [NodeRecord]
            switch change {
            case .level(let level):
                cluster.set(level: level)
                link?.loop.execute { link?.value.use(level: level) }
                return
            case .nodes(let listed): records = listed
            case .revoked, .sanctioned, .setting: return
            }
            cluster.set(records)
            guard let link else { return }
            let others = records.filter { $0.node != own }
            let now = Set(others.map(\.node))
            let gone = known.replace(with: now)
            let refused = system.refusedNodes
            link.loop.execute {
                // They are told so before they are forgotten.
                link.value.refuse(refused)
                for node in gone { link.value.forget(node) }
                for record in others {
                    guard let address = GossipAddress(record.linkAddress), let (host, port) = address.hostAndPort
                    else { continue }
                    link.value.know(record.node, host: host, port: port)
                }
            }
        }
    }

    /// Takes gossip's records of all nodes. On the link's loop.
    func heard(_ records: [GossipRecord], own: NodeID) {
        var dead: Set<NodeID> = []
        for record in records where record.member.node != own {
            if record.status == .dead { dead.insert(record.member.node) }
            guard record.status == .alive, let (host, port) = record.member.gossipAddress.hostAndPort else { continue }
            link?.value.know(record.member.node, host: host, port: port)
        }
        cluster.set(dead: dead)
    }

    /// Gets this node listed, and again when it says something else of itself; and has its clients sent elsewhere when
    /// it is drained.
    func start(_ record: NodeRecord, rooms: RoomHost, gateway: Gateway) {
        let task = Task { [self] in
            var isDrained = false
            var hasSaidRemoved = false
            while !Task.isCancelled {
                let listed = system.nodes.first { $0.node == record.node }
                if let listed, listed.store == record.store { try? directory.markTakenIn() }
                if listed?.store == record.store { hasSaidRemoved = false }
                if listed?.store != record.store || !record.saysTheSame(as: listed) {
                    await introduce(record, &hasSaidRemoved)
                }
                if listed?.isDraining == true, !isDrained, await rooms.notices().isEmpty {
                    isDrained = true
                    logger.notice("this node is drained: it leads nothing and sends its clients elsewhere")
                    await gateway.drain(toOthers: true)
                }
                await notify(gateway)
                try? await Task.sleep(for: .seconds(1))
            }
        }
        let listening = Task { [self] in await listen(record.node, gateway) }
        self.tasks.withLock { $0 = [task, listening] }
    }

    /// Asks again and again whether the cluster is heard, so that new clients are let in as soon as it is.
    private func listen(_ own: NodeID, _ gateway: Gateway) async {
        var watch = CutOffWatch()
        var lookedAt = ContinuousClock.now
        while !Task.isCancelled {
            let isHeard = await isHeard()
            let mayServeElsewhere = isHeard ? false : await mayServeElsewhere()
            let now = ContinuousClock.now
            let action = watch.look(isHeard: isHeard, mayServeElsewhere: mayServeElsewhere, after: now - lookedAt)
            lookedAt = now
            // Such a node would refuse tokens that are right.
            let hasUselessClock = cluster.hasUselessClock(own)
            await gateway.refuseNewcomers(
                because: watch.isCutOff
                    ? "this node is cut off from its cluster" : hasUselessClock ? Readiness.wrongClock : nil)
            hearing.withLock { [isCutOff = watch.isCutOff, reached = nodes.reached] in
                $0.note(reached: reached, isHeard: isHeard, at: now)
                ($0.isCutOff, $0.isMinority) = (isCutOff, mayServeElsewhere)
            }
            switch action {
            case .askToMove:
                logger.error("this node is cut off from its cluster and asks its clients to move")
                await notify(gateway)
                await gateway.askAllToMove()
            case .sendAway:
                logger.error("this node is cut off from its cluster and sends its clients elsewhere")
                await notify(gateway)
                await gateway.sendAllAway(after: watch.silence, endedElsewhere: mayServeElsewhere)
            case nil: break
            }
            try? await Task.sleep(for: .milliseconds(watch.silence > .seconds(1) ? 100 : 500))
        }
    }

    /// Whether this node hears the majority of the system group. While the group elects another leader it does, as long
    /// as new clients are let in: all nodes miss the former one at once, and a load balancer would take out all of them.
    func hearsMajority() async -> Bool {
        let hearsLeader = await system.hearsLeader()
        return hearing.withLock { hearing in
            if hearsLeader { hearing.hasBegun = true }
            return hearsLeader || hearing.hasBegun && !hearing.isCutOff
        }
    }

    private func isHeard() async -> Bool {
        if system.nodes.count <= 1, link == nil || nodes.reached.isEmpty { return true }
        return await system.hearsLeader()
    }

    /// Whether the voters that are not reached may be a majority. A cluster of fewer than three of them has none without any.
    private func mayServeElsewhere() async -> Bool {
        let voters = Set(await system.status().replicas)
        return voters.count >= 3 && 2 * voters.subtracting(nodes.reached.union([nodes.node])).count > voters.count
    }

    /// Clients are told of the gateways of all nodes that are reached and stay. A node that is cut off reaches none, or such
    /// as are cut off with it: it names those that it has reached until the cut.
    private func notify(_ gateway: Gateway) async {
        let own = await gateway.ownURLs()
        let reached = nodes.reached
        let lost = hearing.withLock { $0.isCutOff && $0.isMinority ? $0.reachedBefore.subtracting(reached) : [] }
        let named = lost.isEmpty ? reached : lost
        let staying = system.nodes.filter { !$0.isDraining && !cluster.hasUselessClock($0.node) }
        let others = staying.filter { named.contains($0.node) }.flatMap(\.clientURLs)
        await gateway.use(
            urls: own + others.filter { !own.contains($0) }, listed: system.nodes.flatMap(\.clientURLs))
    }

    /// - Parameter hasSaidRemoved: whether the log has it already that this node was taken out.
    private func introduce(_ record: NodeRecord, _ hasSaidRemoved: inout Bool) async {
        guard
            system.nodes.contains(where: { $0.node == record.node && $0.store == record.store })
                || !directory.isTakenIn
        else {
            // A list without this node may be older than its place in it, as long as the log is not all applied: only
            // the list of those who were taken out tells.
            let refused = system.refusedNodes
            let isRemoved =
                refused.nodes.contains(record.node) || refused.stores[record.node]?.contains(record.store) ?? false
            guard isRemoved, !hasSaidRemoved else { return }
            hasSaidRemoved = true
            logger.error(
                "this node was taken out of the cluster; to take it in again, readmit it at another node, remove its data directory and start it"
            )
            return
        }
        if (try? await system.changeNodes(.add(record))) != nil { return }
        for other in nodes.reached.shuffled() {
            do throws(ChatError) {
                _ = try await nodes.ask(other, .join(record))
                return
            } catch {
                logger.debug("not taken in yet", metadata: ["peer": "\(other)", "error": "\(error)"])
            }
        }
    }

    func stop() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

/// The nodes that were listed when that was last looked at.
private final class KnownNodes: Sendable {
    private let nodes = Mutex<Set<NodeID>>([])

    /// - Returns: those that were known and are no more.
    func replace(with now: Set<NodeID>) -> Set<NodeID> {
        nodes.withLock { nodes in
            defer { nodes = now }
            return nodes.subtracting(now)
        }
    }
}

extension NodeRecord {
    /// Whether the list has what this node says of itself.
    fileprivate func saysTheSame(as listed: NodeRecord?) -> Bool {
        guard let listed else { return false }
        return (linkAddress, clientURLs, role) == (listed.linkAddress, listed.clientURLs, listed.role)
    }
}
