import BuildVersion
import Callbacks
import ChatModel
import Consensus
import EventLoop
import FoundationEssentials
import Gateway
import Gossip
import HTTPClient
import History
import LogStore
import Logging
import Membership
import RoomLink
import Rooms
import ServerAPI
import ServiceLifecycle
import Sharding
import Synchronization
import SystemCalls
import TLS
import Telemetry
import Transport
import Wire

/// One node: builds every part, starts them in the order of their dependencies and stops them in reverse.
public final class ChatroomNode: Service, Sendable {
    private let configuration: NodeConfiguration
    private let logger: Logger
    private let logControl: LogControl
    private let keys: TokenKeys
    private let tls: TLSContext?
    private let apiCertificate: APICertificate?
    private let roomLimits: RoomLimits
    /// While it serves.
    private let gateway = Mutex<Gateway?>(nil)
    private let gossip = Mutex<ClusterGossip?>(nil)
    private let links = Mutex<ClusterLinks?>(nil)
    /// Reads the key sets, while it runs.
    private let keyClient = Mutex<HTTPClient?>(nil)
    private let onReady: @Sendable (NodePorts) -> Void

    /// Reads keys and certificates; nothing is opened or bound yet.
    public init(
        configuration: NodeConfiguration, logger: Logger, logControl: LogControl,
        onReady: @escaping @Sendable (NodePorts) -> Void = { _ in }
    ) async throws(NodeError) {
        self.configuration = configuration
        roomLimits = RoomLimits(entersPerSecond: configuration.roomEntersPerSecond)
        self.logger = logger
        self.logControl = logControl
        self.onReady = onReady
        tls = try configuration.tls?.clientContext()
        apiCertificate = configuration.apiTLS ? try configuration.tls?.apiCertificate() : nil
        keys = try await TokenKeys(
            try KeysFile.read(configuration.keysFile), keySets: KeySetReader(logger: logger), now: WallClock.now)
    }

    /// Reads keys and certificates again and takes over the limits of `new` (SIGHUP); everything else of it waits for
    /// the next start. On an error all stays as it was.
    public func reload(_ new: NodeConfiguration) async throws(NodeError) {
        let file = try KeysFile.read(new.keysFile)
        let files = new.tls ?? configuration.tls
        let context = tls == nil ? nil : try files?.clientContext()
        let certificate = apiCertificate == nil ? nil : try files?.apiCertificate()
        let links = links.withLock { $0 }
        let linkTLS = configuration.linkTLS == nil ? nil : try (new.linkTLS ?? configuration.linkTLS)?.read()
        let ring = try file.clusterRing()
        try await keys.replace(with: file)
        if let ring {
            await gossip.withLock { $0 }?.use(ring)
            await links?.use(ring)
        }
        if let linkTLS { await links?.use(linkTLS) }
        if let certificate { apiCertificate?.renew(from: certificate) }
        roomLimits.entersPerSecond = new.roomEntersPerSecond
        await gateway.withLock { $0 }?.reload(limits: new.gateway, tls: context)
    }

    /// Creates a cluster of this one node in its data directory: one explicit act, never repeated.
    public static func createCluster(_ configuration: NodeConfiguration, logger: Logger) async throws(NodeError) {
        let directory = DataDirectory(path: configuration.dataDirectory)
        try directory.create()
        let store = try openLog(configuration, directory, create: true, metrics: nil)
        defer { store.close() }
        let owner: DataOwner
        do {
            let loop = try EventLoop(name: "create")
            loop.start()
            let identity = ClusterIdentity(
                id: UUID().uuidString.lowercased(), shardCount: UInt16(configuration.shardCount))
            let server = ServerID(node: configuration.node.text, store: store.storeID)
            try await SystemGroup.bootstrap(shardCount: identity.shardCount, server: server, store: store)
            let system = SystemGroup(
                loop: loop, store: store, server: server, transport: ClusterRouter(node: configuration.node),
                cluster: ClusterView(shardCount: identity.shardCount), directory: directory.system, logger: logger,
                now: WallClock.now, forward: Self.nobodyElse)
            try await system.start()
            try await system.create(identity, node: configuration.node)
            system.close()
            loop.shutdown()
            await loop.joined()
            owner = DataOwner(cluster: identity.id, shards: identity.shardCount, node: configuration.node.text)
        } catch {
            throw NodeError(.storage, "the cluster can't be created: \(error)")
        }
        try directory.complete(owner)
    }

    /// How long a start waits for the system group, which a node alone has at once.
    private static let systemWait = Duration.seconds(5)

    /// How long a node that stops waits for others to take over what it leads.
    private static let handOverLimit = Duration.seconds(3)

    /// There is no other node yet.
    private static let nobodyElse: SystemGroup.Forward = { _, _, _ throws(ChatError) in
        throw ChatError(.unavailable, "there is no other node", retryAfterMs: 500)
    }

    static func openLog(
        _ configuration: NodeConfiguration, _ directory: DataDirectory, create: Bool, metrics: MetricsRegistry?
    ) throws(NodeError) -> LogStore {
        var options = LogStoreConfiguration(directory: directory.log)
        options.create = create
        options.syncDelayMicroseconds = UInt32(configuration.syncDelayMicroseconds)
        if let metrics {
            let syncs = metrics.durations("chatroom_log_sync_seconds", "How long one sync of the log took.")
            options.onSync = { duration, _ in syncs.record(seconds: duration / .seconds(1)) }
        }
        do {
            return try LogStore.open(options)
        } catch {
            throw NodeError(.storage, "the log in \(directory.log) can't be opened: \(error)")
        }
    }

    /// Seconds; a turn is to stay below 10 ms.
    private static let turnBounds = [
        0.0001, 0.0003, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1,
    ]

    /// Serves until the task is cancelled or a graceful shutdown is asked for (SIGTERM).
    public func run() async throws {
        let directory = DataDirectory(path: configuration.dataDirectory)
        if !directory.exists, !configuration.linkSeeds.isEmpty { try await joinCluster(directory) }
        let owner = try directory.owner(expected: configuration.node.text)
        let metrics = MetricsRegistry()
        let store = try Self.openLog(configuration, directory, create: false, metrics: metrics)
        let server = ServerID(node: configuration.node.text, store: store.storeID)
        let loops = try (0..<configuration.loops).map { try EventLoop(name: "loop-\($0)") }
        for loop in loops { loop.start() }
        let keyClient = HTTPClient(loop: loops[loops.count - 1])
        self.keyClient.withLock { $0 = keyClient }
        await keys.keySets.start(keyClient)
        let turns = metrics.durations(
            "chatroom_loop_turn_seconds", "How long one turn of a loop took, by the clock.", bounds: Self.turnBounds)
        let turnsCPU = metrics.durations(
            "chatroom_loop_turn_cpu_seconds", "For how long of a turn its loop had a CPU.", bounds: Self.turnBounds)
        for loop in loops {
            loop.execute {
                loop.observeTurns {
                    turns.record(seconds: Double($0.elapsed) / 1e9)
                    turnsCPU.record(seconds: Double($0.used) / 1e9)
                }
            }
        }

        let router = ClusterRouter(node: configuration.node)
        let nodes = ClusterNodes(router)
        let cluster = ClusterView(shardCount: owner.shards)
        let refusedTerms = PeerRefusals.counter(in: metrics)
        let system = SystemGroup(
            loop: loops[0], store: store, server: server, transport: router, replication: router, cluster: cluster,
            directory: directory.system, logger: logger, refusedTerms: refusedTerms, now: WallClock.now
        ) { command, key, leader throws(ChatError) in try await nodes.forward(command, key, to: leader) }
        let shardMap = ShardMap(shardCount: owner.shards)
        let identity = ClusterIdentity(id: owner.cluster, shardCount: owner.shards)
        let storages: [ShardStorage]
        let links: (links: ClusterLinks, gossip: ClusterGossip)?
        let membership: NodeMembership
        do {
            try await system.start()
            (links, membership) = try await link(
                directory, identity, server, loops, router, nodes, system, cluster,
                PeerRefusals(terms: refusedTerms, logger: logger))
            storages = try Self.openStorages(
                directory, shardMap, configuration, StoragePool(writers: 2, readers: 2))
        } catch {
            await stop(nil, nil, system, [], store, loops)
            throw (error as? NodeError) ?? NodeError(.storage, "the system log can't be used: \(error)")
        }
        let audit: AuditFile
        do {
            audit = try AuditFile.open(
                path: directory.audit, retentionDays: configuration.auditRetentionDays, now: WallClock.now)
        } catch {
            await stop(nil, nil, system, storages, store, loops)
            throw NodeError(.storage, "the audit can't be used: \(error)")
        }
        defer { audit.close() }
        let startedAt = WallClock.now()
        let rooms = RoomHost(
            node: configuration.node, loops: loops, shardMap: shardMap, storages: storages, elsewhere: nodes)
        let gateway = Gateway(
            configuration: configuration.gateway, loops: loops, router: router, elsewhere: nodes, shardMap: shardMap,
            verifier: TokenGate(keys: keys, system: system), metrics: metrics,
            logger: logger, tls: tls, now: WallClock.now)
        router.connect(rooms, gateway)
        await system.observe { change in
            if case .revoked(let user, _) = change { gateway.revoke(user) }
        }
        let callbackClient = CallbackClient(
            loop: loops[loops.count - 1], allowedHosts: Set(configuration.callbackHosts),
            refusesPrivateAddresses: configuration.refusesPrivateCallbacks)
        let callbacks = AppCallbacks(system: system, client: callbackClient, logger: logger)
        do {
            var dependencies = RoomHost.Dependencies(
                store: store, server: server, sink: router, transport: router, replication: router,
                policy: configuration.rooms, cluster: cluster, metrics: metrics, logger: logger,
                checkpointSeconds: configuration.checkpointSeconds, callbacks: callbacks.setup(), now: WallClock.now)
            dependencies.restoreGeneration = identity.restoreGeneration
            dependencies.limits = roomLimits
            dependencies.refusedTerms = refusedTerms
            // The shards take part while the system group finds its leader: what both have to wait for after a restart
            // they wait for together.
            cluster.set(knowsSettings: false)
            try await rooms.start(dependencies)
            // Settings and revocations are to be known before anybody is served.
            if await !system.settled(within: Self.systemWait) {
                logger.warning("the system group has no leader yet; settings and revocations may be old")
            }
            await callbacks.start(rooms, gateway)
            cluster.set(knowsSettings: true)
        } catch {
            await callbackClient.shutdown()
            await stop(gateway, rooms, system, storages, store, loops)
            throw NodeError(.storage, "a shard's log can't be used: \(error)")
        }
        let clientPort: Int
        do {
            clientPort = try await gateway.start()
            self.gateway.withLock { $0 = gateway }
            // Leaderships that were won, here and elsewhere, before there was anybody to tell.
            router.leaders.repeatAll { node, notice, isHeard in
                gateway.isLed(notice, by: node)
                // Said too, since the news that it is heard again would mean nothing without it.
                if !isHeard { gateway.isDoubted(notice, of: node) }
            }
        } catch {
            await callbackClient.shutdown()
            await stop(gateway, rooms, system, storages, store, loops)
            throw NodeError(
                .address,
                "the client port \(configuration.gateway.host):\(configuration.gateway.port) can't be used: \(error)")
        }
        let gossip = links?.gossip
        tell(gossip, rooms, gateway)
        let auditRecorder = AuditRecorder(file: audit)
        nodes.use(
            NodeAnswers(
                configuration: configuration, rooms: rooms, system: system, gateway: gateway, cluster: identity,
                auditRecorder: auditRecorder, logControl: logControl, startedAt: startedAt,
                backup: NodeBackup(configuration, rooms: rooms, system: system, cluster: identity)))
        membership.start(
            NodeRecord(
                node: configuration.node, store: server.store, linkAddress: gossip?.address.text ?? "",
                clientURLs: Array(await gateway.ownURLs().prefix(NodeRecord.clientURLsMax))),
            rooms: rooms, gateway: gateway)
        let clocks = ClockWatch(own: configuration.node, nodes: nodes, cluster: cluster, logger: logger)
        clocks.start()
        let versions = VersionWatch(nodes: nodes, logger: logger)
        addGauges(metrics, store, directory, gossip, clocks)

        let service = NodeService(
            configuration: configuration, rooms: rooms, system: system, keys: keys, gateway: gateway, nodes: nodes,
            gossip: gossip, callbacks: callbacks, registry: metrics, auditRecorder: auditRecorder,
            logControl: logControl, startedAt: startedAt)
        let (onReady, logger) = (onReady, logger)
        let node = configuration.node
        let probes = ProbePort(configuration, service: service, certificate: apiCertificate, logger: logger)
        var apiConfiguration = APIServerConfiguration(host: configuration.apiHost, port: configuration.apiPort)
        apiConfiguration.connectionsMax = configuration.apiConnectionsMax
        apiConfiguration.connectionsPerAddressMax = configuration.apiConnectionsPerAddressMax
        let api = APIServer(
            configuration: apiConfiguration, service: service, logger: logger, certificate: apiCertificate
        ) { apiPort in
            var metadata: Logger.Metadata = [
                "node": "\(node)", "client": "\(clientPort)", "api": "\(apiPort)",
            ]
            if let port = probes?.port { metadata["probes"] = "\(port)" }
            if let port = gossip?.address.hostAndPort?.port { metadata["link"] = "\(port)" }
            logger.info("node is serving", metadata: metadata)
            onReady(NodePorts(client: clientPort, api: apiPort))
        }
        var failure: (any Error)?
        let memory = MemoryKeeper.start(logger: logger)
        do {
            if let probes { try await probes.run(beside: api) } else { try await api.run() }
        } catch {
            failure = error
        }
        memory.stop()
        self.gossip.withLock { $0 = nil }
        self.links.withLock { $0 = nil }
        await membership.stop()
        await clocks.stop()
        await versions.stop()
        // Others lead before clients go there.
        await rooms.handOverAll(within: Self.handOverLimit)
        await system.handOver()
        await gateway.drain()
        try? await Task.sleep(for: .milliseconds(200))
        await gossip?.stop()
        await links?.links.stop()
        // Before the loops end, on which the answers of other nodes and of the app are taken.
        nodes.questions.endAll()
        await callbackClient.shutdown()
        await stop(gateway, rooms, system, storages, store, loops)
        logger.info("node has stopped", metadata: ["node": "\(node)"])
        if let failure {
            throw NodeError(
                .address, "the API port \(configuration.apiHost):\(configuration.apiPort) can't be served: \(failure)")
        }
    }

    /// Makes an empty data directory for this node in the cluster that its seeds belong to. Asks until one answers.
    private func joinCluster(_ directory: DataDirectory) async throws {
        guard let ring = try KeysFile.read(configuration.keysFile).clusterRing() else { throw Self.seedsWithoutKey }
        let loop = try EventLoop(name: "join")
        loop.start()
        defer { loop.shutdown() }
        var isFirst = true
        while true {
            do throws(NodeError) {
                let identity = try await ClusterLinks.askIdentity(configuration, ring: ring, loop: loop)
                guard let shards = UInt16(exactly: identity.shards), shards > 0 else {
                    throw NodeError(.address, "a seed names \(identity.shards) shards")
                }
                try directory.create()
                try Self.openLog(configuration, directory, create: true, metrics: nil).close()
                try directory.complete(
                    DataOwner(cluster: identity.cluster, shards: shards, node: configuration.node.text))
                logger.notice("joining a cluster", metadata: ["cluster": "\(identity.cluster)"])
                return
            } catch {
                guard error.code == .address else { throw error }
                if isFirst { logger.warning("no seed answers yet", metadata: ["error": "\(error.message)"]) }
                isFirst = false
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static let seedsWithoutKey = NodeError(.configuration, "link.seeds needs a cluster key in the keys file")

    private typealias Links = (links: ClusterLinks, gossip: ClusterGossip)

    /// Begins to speak to other nodes; nil for a node without cluster keys, which speaks to none.
    private func link(
        _ directory: DataDirectory, _ identity: ClusterIdentity, _ server: ServerID, _ loops: [EventLoop],
        _ router: ClusterRouter, _ nodes: ClusterNodes, _ system: SystemGroup, _ cluster: ClusterView,
        _ refusals: PeerRefusals
    ) async throws(NodeError) -> (Links?, NodeMembership) {
        let node = configuration.node
        guard let ring = try KeysFile.read(configuration.keysFile).clusterRing() else {
            guard configuration.linkSeeds.isEmpty else {
                throw Self.seedsWithoutKey
            }
            let alone = NodeMembership(
                directory, system: system, cluster: cluster, nodes: nodes, link: nil, logger: logger)
            await alone.follow(node)
            return (nil, alone)
        }
        let links = try await ClusterLinks.start(
            configuration, cluster: identity, server: server, ring: ring, loop: loops[0], logger: logger
        ) { link in
            ClusterInbox(router: router, system: system, nodes: nodes, refusals: refusals).attach(to: link)
        }
        await router.connect(links.link, loops: loops)
        let membership = NodeMembership(
            directory, system: system, cluster: cluster, nodes: nodes, link: links.link, logger: logger)
        let gossip = try await ClusterGossip.start(
            configuration, ring: ring, store: server.store, loop: loops[0], links: links, logger: logger
        ) { records in
            membership.heard(records, own: node)
        }
        await membership.follow(node)
        self.gossip.withLock { $0 = gossip }
        self.links.withLock { $0 = links }
        return ((links, gossip), membership)
    }

    /// Lets gossip tell what this node leads, and how full it is.
    private func tell(_ gossip: ClusterGossip?, _ rooms: RoomHost, _ gateway: Gateway) {
        let connectionsMax = configuration.gateway.connections.connectionsMax
        gossip?.tell {
            let connections = await gateway.counts().connections
            return (
                leads: await rooms.notices().map { ShardLead(shard: $0.shard, term: $0.term) },
                load: UInt16(clamping: connections * 1_000 / max(connectionsMax, 1))
            )
        }
    }

    /// Stop order: clients first, then the rooms, which write what they have, then the disk, then the loops. Nothing
    /// may be freed while a loop still turns.
    private func stop(
        _ gateway: Gateway?, _ rooms: RoomHost?, _ system: SystemGroup, _ storages: [ShardStorage],
        _ store: LogStore, _ loops: [EventLoop]
    ) async {
        await gateway?.stop()
        await rooms?.stop()
        system.close()
        for storage in storages { storage.close() }
        store.close()
        await keys.keySets.stop()
        await keyClient.withLock { $0 }?.shutdown()
        await EventLoop.shutdown(loops)
    }

    static func openStorages(
        _ directory: DataDirectory, _ shardMap: ShardMap, _ configuration: NodeConfiguration, _ pool: StoragePool
    ) throws(NodeError) -> [ShardStorage] {
        do {
            var options = StorageConfiguration(now: WallClock.now)
            options.retentionDays = configuration.rooms.retentionDays
            options.erased = RoomHost.erased
            options.shownBytes = RoomHost.shownBytes
            return try (0..<shardMap.shardCount).map {
                try ShardStorage.open(
                    ShardID($0), directory: directory.shard($0), pool: pool, configuration: options)
            }
        } catch {
            throw NodeError(.storage, "the rooms' storage can't be opened: \(error)")
        }
    }

    private func addGauges(
        _ metrics: MetricsRegistry, _ store: LogStore, _ directory: DataDirectory, _ gossip: ClusterGossip?,
        _ clocks: ClockWatch
    ) {
        metrics.gauge(
            "chatroom_build_info", "What program this is; always 1.",
            labels: [("version", BuildVersion.number), ("revision", BuildVersion.revision)]
        ) { 1 }
        metrics.gauge(
            "chatroom_clock_offset_seconds", "How far this node's clock is off the median of the cluster's."
        ) { clocks.offsetSeconds }
        for state in NodeState.allCases {
            metrics.gauge(
                "chatroom_gossip_members", "Nodes by what gossip says of them.", labels: [("state", state.rawValue)]
            ) {
                // Without gossip: itself.
                guard let gossip else { return state == .alive ? 1 : 0 }
                return Double(gossip.records.count { NodeState($0.status) == state })
            }
        }
        let path = directory.path
        metrics.gauge("chatroom_disk_free_bytes", "Free space where the data is.") {
            Double(FileStatus.freeBytes(at: path) ?? 0)
        }
    }
}

/// The ports a node has bound.
public struct NodePorts: Sendable, Hashable {
    public var client: Int
    public var api: Int
}
