import BuildVersion
import ChatModel
import ClusterRouting
import Consensus
import EventLoop
import Gateway
import Swim
import GroupDriver
import HTTPClient
import History
import LogStore
import Logging
import Media
import SwimDriver
import Rooms
import ServerAPI
import ShardPlacement
import Synchronization
import SystemCalls
import SystemGroupHost
import Telemetry
import Webhooks
import Wire

/// The run of a node: each part starts when those run that it needs.
extension ChatroomNode {
    /// The things that the parts of a node share.
    struct Common {
        let directory: DataDirectory
        let identity: ClusterIdentity
        let server: ServerID
        let loops: [EventLoop]
        let metrics: MetricsRegistry
        let refusedTerms: Counter
        let store: LogStore
        let cluster: ClusterView
        let router: ClusterRouter
        let nodes: ClusterNodes
        let stop = NodeStop()
    }

    /// How long a start waits for the system group, which a node alone has at once.
    private static let systemWait = Duration.seconds(5)

    /// Seconds; a turn is to stay below 10 ms.
    private static let turnBounds = [
        0.0001, 0.0003, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1,
    ]

    /// Serves until the task is cancelled or a graceful shutdown is asked for (SIGTERM).
    public func run() async throws {
        let directory = DataDirectory(path: configuration.dataDirectory)
        if !directory.exists, !configuration.linkSeeds.isEmpty { try await joinCluster(directory) }
        let owner = try directory.owner(expected: configuration.node.text)
        let failure = try await StartedServices.run { services in try await run(directory, owner, &services) }
        logger.info("node has stopped", metadata: ["node": "\(configuration.node)"])
        if let failure {
            throw NodeError(
                .address, "the API port \(configuration.apiHost):\(configuration.apiPort) can't be served: \(failure)")
        }
    }

    /// The stop goes the other way: first others take over, while everything still runs, then clients, rooms, storages
    /// and the log end, each of which writes what it has, and then the loops. Nothing may be freed while a loop turns.
    /// - Returns: why the server API could not be served, if it could not.
    private func run(
        _ directory: DataDirectory, _ owner: DataOwner, _ services: inout StartedServices
    ) async throws -> (any Error)? {
        let common = try await openCommon(directory, owner, &services)
        let (loops, store, router, nodes) = (common.loops, common.store, common.router, common.nodes)
        let (metrics, cluster) = (common.metrics, common.cluster)
        let system = SystemGroup(
            loop: loops[0], store: store, server: common.server, transport: router, replication: router,
            cluster: cluster, directory: directory.system, logger: logger, refusedTerms: common.refusedTerms,
            ownLevel: configuration.levelMax, now: WallClock.now, stop: { common.stop.stop($0) }
        ) { command, key, leader throws(ChatError) in try await nodes.forward(command, key, to: leader) }
        let systemFails: (any Error) -> any Error = {
            if let reason = $0 as? UnknownContent { return NodeError(reason) }
            return ($0 as? NodeError) ?? NodeError(.storage, "the system log can't be used: \($0)")
        }
        try await services.start(stop: { system.close() }, orFail: systemFails) { try await system.start() }
        let membership = try await join(common, system, &services)
        let gossip = links.withLock { $0?.gossip }
        let shardMap = ShardMap(shardCount: owner.shards)
        let storages = try await services.open(
            close: { storages in
                for storage in storages { storage.restIndexes() }
                for storage in storages { storage.close() }
            }
        ) {
            try Self.openStorages(
                in: directory, shardMap, configuration, level: system.level, pool: StoragePool(writers: 2, readers: 2))
        }
        let audit = try await services.open(
            close: { $0.close() }, orFail: { NodeError(.storage, "the audit can't be used: \($0)") }
        ) {
            try AuditFile.open(
                path: directory.audit, own: configuration.node,
                former: AuditFile.Former(path: directory.formerAudit, subject: AuditRecorder.formerSubject),
                retentionDays: configuration.auditRetentionDays, level: system.level,
                now: WallClock.now)
        }
        SearchGauges.add(to: common.metrics, of: storages)
        let startedAt = WallClock.now()

        let calls = try await services.open(close: { await $0.stop() }) {
            await RoomCalls(node: configuration.node, loops: loops, shardMap: shardMap, router: router)
        }
        let media = try await openMedia(common, calls, system: system, services: &services)
        let rooms = RoomHost(
            node: configuration.node, loops: loops, shardMap: shardMap, storages: storages, calls: calls)
        let gateway = Gateway(
            configuration: configuration.gateway, loops: loops, router: router, elsewhere: nodes,
            seal: try KeysFile.read(configuration.keysFile).sessionSeal(), shardMap: shardMap,
            verifier: TokenGate(keys: keys, system: system), metrics: metrics,
            logger: logger, tls: tls, now: WallClock.now)
        router.connect(rooms, calls, gateway)
        // Leaderships that were won before there was anybody to tell.
        router.leaders.repeatAll { node, notice, isHeard in
            calls.onLeaderKnown(notice, by: node)
            if !isHeard { calls.onLeaderSuspected(notice, of: node) }
        }
        await system.observe { change in
            switch change {
            case .revoked(let user, _): gateway.revoke(user)
            case .sanctioned(let user, let kind, _):
                gateway.sanction(user, kind)
                rooms.denyHeld(of: user)
            case .level(let level):
                gateway.use(features: level.clientFeatures)
                if level.brings(.logSegments) { store.useSegments() }
            case .setting, .nodes: break
            }
        }
        let callbackClient = try await services.open(close: { await $0.shutdown() }) {
            CallbackClient(
                loop: loops[loops.count - 1], allowedHosts: Set(configuration.callbackHosts),
                refusesPrivateAddresses: configuration.refusesPrivateCallbacks)
        }
        let callbacks = AppCallbacks(system: system, client: callbackClient, logger: logger)
        try await services.start(
            stop: { await rooms.stop() }, orFail: { NodeError(.storage, "a shard's log can't be used: \($0)") }
        ) {
            // The shards take part while the system group finds its leader: what both have to wait for after a restart
            // they wait for together.
            cluster.set(knowsSettings: false)
            var dependencies = dependencies(common, callbacks)
            dependencies.takeUploadBytes = { user, bytes throws(ChatError) in
                try await media.takeUploadBytes(user, bytes)
            }
            dependencies.media = media
            dependencies.silencing = { user in
                if system.sanction(.banned, of: user) != nil { return .kicked }
                return system.sanction(.muted, of: user) != nil ? .muted : nil
            }
            try await rooms.start(dependencies)
        }
        // Settings and revocations are to be known before anybody is served.
        if await !system.settled(within: Self.systemWait) {
            logger.warning("the system group has no leader yet; settings and revocations may be old")
        }
        // Nobody is served by a program that may not go on.
        if let reason = common.stop.reason { throw NodeError(reason) }
        await callbacks.start(rooms, gateway)
        cluster.set(knowsSettings: true)
        let clientPort = try await start(gateway, router, &services)

        let recent = RecentFigures(metrics)
        try await services.start(stop: { await recent.stop() }) { recent.start() }
        let auditRecorder = AuditRecorder(node: configuration.node, file: audit)
        let transferAndDrain: @Sendable () async -> Void = { [self] in
            await self.transferAndDrain(rooms, system, gateway: gateway, nodes: nodes)
        }
        try await services.start(stop: { [self] in
            await transferAndDrain()
            await leave(nodes)
        }) {
            notify(gossip, rooms, gateway)
            let answers = NodeAnswers(
                configuration: configuration, rooms: rooms, system: system, gateway: gateway,
                cluster: common.identity, auditRecorder: auditRecorder, logControl: logControl,
                startedAt: startedAt,
                backup: NodeBackup(configuration, rooms: rooms, system: system, cluster: common.identity),
                recent: recent, media: media)
            nodes.use { await answers.answer($0) }
        }
        let record = NodeRecord(
            node: configuration.node, store: common.server.store, linkAddress: gossip?.address.text ?? "",
            clientURLs: Array(await gateway.ownURLs().prefix(NodeRecord.clientURLsMax)))
        try await services.start(stop: { await membership.stop() }) {
            membership.start(record, rooms: rooms, gateway: gateway)
        }
        let copier = AuditCopier(own: configuration.node, file: audit, nodes: nodes, system: system)
        try await services.start(stop: { await copier.stop() }) { copier.start() }
        let clocks = ClockWatch(own: configuration.node, nodes: nodes, cluster: cluster, logger: logger)
        try await services.start(stop: { await clocks.stop() }) { clocks.start() }
        try await services.open(close: { await $0.stop() }) {
            SanctionTeller(
                own: configuration.node, system: system, client: callbackClient, logger: logger,
                webhook: { callbacks.webhook })
        }
        try await services.open(close: { await $0.stop() }) {
            VersionWatch(
                nodes: nodes, system: system, raiseAfterSeconds: configuration.raiseLevelAfterSeconds, logger: logger)
        }
        gateway.use(media: media)
        let keeper = MediaKeeper(media.store, pause: configuration.mediaRoundPause)
        try await services.start(stop: { await keeper.stop() }) { keeper.start() }
        addGauges(common, system, gossip: gossip, clocks: clocks)
        let service = NodeService(
            configuration: configuration, rooms: rooms, calls: calls, system: system, keys: keys, gateway: gateway,
            nodes: nodes, membership: membership, gossip: gossip, callbacks: callbacks, registry: metrics,
            ready: ReadyFigure(in: metrics),
            auditRecorder: auditRecorder, logControl: logControl, startedAt: startedAt,
            plannedStop: plannedStop, media: media)
        if configuration.gateway.hasDemo {
            let nodes: @Sendable () -> Int = { system.nodes.count }
            gateway.use(
                demo: DemoRooms(
                    service: service, killFile: configuration.demoKillFile, nodes: nodes, logger: logger))
        }
        let linkPort = gossip?.address.hostAndPort?.port
        let serving = Task {
            try await serve(service, clientPort: clientPort, linkPort: linkPort, whileStopping: transferAndDrain)
        }
        let stopping = Task {
            await common.stop.wait()
            if common.stop.reason != nil { serving.cancel() }
        }
        defer { stopping.cancel() }
        let result = await withTaskCancellationHandler {
            await serving.result
        } onCancel: {
            serving.cancel()
        }
        if let reason = common.stop.reason { throw NodeError(reason) }
        if case .failure(let error) = result { return error }
        return nil
    }

    /// Starts the loops, and what only needs them.
    private func openCommon(
        _ directory: DataDirectory, _ owner: DataOwner, _ services: inout StartedServices
    ) async throws -> Common {
        let loops = try await services.open(close: { await EventLoop.shutdown($0) }) {
            let loops = try (0..<configuration.loops).map { try EventLoop(name: "loop-\($0)") }
            for loop in loops { loop.start() }
            return loops
        }
        let (keySets, keyClient) = (keys.keySets, HTTPClient(loop: loops[loops.count - 1]))
        let stopKeys: @Sendable () async -> Void = {
            await keySets.stop()
            await keyClient.shutdown()
        }
        try await services.start(stop: stopKeys) { await keySets.start(keyClient) }
        let metrics = MetricsRegistry()
        observeTurns(of: loops, metrics)
        let store = try await services.open(close: { $0.close() }) {
            try Self.openLog(configuration, directory, create: nil, metrics: metrics)
        }
        let router = ClusterRouter(node: configuration.node)
        return Common(
            directory: directory, identity: ClusterIdentity(id: owner.cluster, shardCount: owner.shards),
            server: ServerID(node: configuration.node.text, store: store.storeID), loops: loops, metrics: metrics,
            refusedTerms: PeerRefusals.counter(in: metrics), store: store,
            cluster: ClusterView(shardCount: owner.shards), router: router,
            nodes: ClusterNodes(router, grace: .seconds(configuration.gateway.graceSeconds)))
    }

    private func observeTurns(of loops: [EventLoop], _ metrics: MetricsRegistry) {
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
    }

    /// Binds the client port.
    private func start(
        _ gateway: Gateway, _ router: ClusterRouter, _ services: inout StartedServices
    ) async throws -> Int {
        let (host, port) = (configuration.gateway.host, configuration.gateway.port)
        var bound = 0
        try await services.start(
            stop: { await gateway.stop() },
            orFail: { NodeError(.address, "the client port \(host):\(port) can't be used: \($0)") }
        ) {
            bound = try await gateway.start()
        }
        self.gateway.withLock { $0 = gateway }
        // Leaderships that were won, here and elsewhere, before there was anybody to tell.
        router.leaders.repeatAll { node, notice, isHeard in
            gateway.onLeaderKnown(notice, by: node)
            // Said too, since the news that it is heard again would mean nothing without it.
            if !isHeard { gateway.onLeaderSuspected(notice, of: node) }
        }
        return bound
    }

    /// Serves probes and the server API until the node is to stop and others have taken over.
    private func serve(
        _ service: NodeService, clientPort: Int, linkPort: Int?, whileStopping: @escaping @Sendable () async -> Void
    ) async throws {
        let (node, onReady, logger) = (configuration.node, onReady, logger)
        let figures = APIFigures(in: service.registry)
        let probes = ProbePort(
            configuration, service: service, certificate: apiCertificate, figures: figures, logger: logger,
            whileStopping: whileStopping)
        var apiConfiguration = APIServerConfiguration(host: configuration.apiHost, port: configuration.apiPort)
        apiConfiguration.connectionsMax = configuration.apiConnectionsMax
        apiConfiguration.connectionsPerAddressMax = configuration.apiConnectionsPerAddressMax
        let api = APIServer(
            configuration: apiConfiguration, service: service, logger: logger, certificate: apiCertificate,
            figures: figures, whileStopping: whileStopping
        ) { apiPort in
            var metadata: Logger.Metadata = [
                "node": "\(node)", "client": "\(clientPort)", "api": "\(apiPort)",
            ]
            if let port = probes?.port { metadata["probes"] = "\(port)" }
            if let linkPort { metadata["link"] = "\(linkPort)" }
            logger.info("node is serving", metadata: metadata)
            onReady(NodePorts(client: clientPort, api: apiPort))
        }
        if let probes { try await probes.run(beside: api) } else { try await api.run() }
    }

    private func dependencies(_ common: Common, _ callbacks: AppCallbacks) -> RoomHost.Dependencies {
        var dependencies = RoomHost.Dependencies(
            store: common.store, server: common.server, sink: common.router, transport: common.router,
            replication: common.router, policy: configuration.rooms, cluster: common.cluster, metrics: common.metrics,
            logger: logger, checkpointSeconds: configuration.checkpointSeconds, callbacks: callbacks.setup(),
            now: WallClock.now)
        dependencies.restoreGeneration = common.identity.restoreGeneration
        dependencies.limits = roomLimits
        dependencies.stop = { common.stop.stop($0) }
        dependencies.refusedTerms = common.refusedTerms
        return dependencies
    }

    private func addGauges(_ common: Common, _ system: SystemGroup, gossip: ClusterGossip?, clocks: ClockWatch) {
        let metrics = common.metrics
        metrics.gauge("chatroom_feature_level", "The cluster's feature level, as this node has heard.") {
            Double(system.level.number)
        }
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
        ProcessFigures.add(to: metrics)
        let path = common.directory.path
        metrics.gauge("chatroom_disk_free_bytes", "Free space where the data is.") {
            Double(FileStatus.freeBytes(at: path) ?? 0)
        }
    }
}
