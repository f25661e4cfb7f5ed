import BuildVersion
import ChatModel
import ClusterRouting
import Consensus
import EventLoop
import Gateway
import GroupDriver
import HTTPClient
import LogStore
import Logging
import ServerAPI
import ServiceLifecycle
import Swim
import SwimDriver
import Synchronization
import SystemCalls
import SystemGroupHost
import Telemetry
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
        /// The time by which this node stamps and removes.
        let steady = WallClock.steady()
    }

    /// Seconds; a turn is to stay below 10 ms.
    private static let turnBounds = [
        0.0001, 0.0003, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1,
    ]

    /// Serves until the task is cancelled or a graceful shutdown is asked for (SIGTERM).
    public func run() async throws {
        let directory = DataDirectory(path: configuration.dataDirectory)
        if !directory.exists, !configuration.linkSeeds.isEmpty {
            // A node that has joined counts as one, also when it can't serve then.
            try await PortCheck.requireFree(configuration)
            let failure = await cancelWhenGracefulShutdown { [self] () -> (any Error)? in
                do {
                    try await joinCluster(directory)
                    return nil
                } catch {
                    return error
                }
            }
            if Task.isShuttingDownGracefully {
                logger.info("node has stopped while it joined", metadata: ["node": "\(configuration.node)"])
                return
            }
            if let failure { throw failure }
        }
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
        let system = try await startSystem(common, &services)
        let membership = try await join(common, system, &services)
        let parts = try await openParts(common, system, membership, owner, &services)
        await connect(parts)
        try await startRooms(parts, &services)
        let clientPort = try await start(parts.gateway, common.router, &services)
        let recent = RecentFigures(common.metrics)
        try await services.start(stop: { await recent.stop() }) { recent.start() }
        let transferAndDrain: @Sendable () async -> Void = { [self] in
            await self.transferAndDrain(parts.rooms, system, gateway: parts.gateway, nodes: common.nodes)
        }
        try await services.start(stop: { [self] in
            await transferAndDrain()
            await leave(common.nodes)
        }) {
            answerNodes(parts, recent)
        }
        let clocks = try await startDuties(parts, &services)
        addGauges(common, system, gossip: parts.gossip, clocks: clocks)
        return try await serve(parts, clientPort: clientPort, whileStopping: transferAndDrain)
    }

    /// Serves until the node is to stop, and throws when it must not go on.
    /// - Returns: why the server API could not be served, if it could not.
    private func serve(
        _ parts: Parts, clientPort: Int, whileStopping: @escaping @Sendable () async -> Void
    ) async throws -> (any Error)? {
        let (service, stop) = (service(of: parts), parts.common.stop)
        let linkPort = parts.gossip?.address.hostAndPort?.port
        let serving = Task {
            try await serve(service, clientPort: clientPort, linkPort: linkPort, whileStopping: whileStopping)
        }
        let stopping = Task {
            await stop.wait()
            if stop.reason != nil { serving.cancel() }
        }
        defer { stopping.cancel() }
        let result = await withTaskCancellationHandler {
            await serving.result
        } onCancel: {
            serving.cancel()
        }
        if let reason = stop.reason { throw NodeError(reason) }
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
        for port in CertificateDates.Port.allCases where certificates.end(port) != nil {
            metrics.gauge(
                "chatroom_certificate_expiry_timestamp_seconds", "When a certificate of this node ends.",
                labels: [("port", port.rawValue)]
            ) { [certificates] in Double(certificates.end(port) ?? 0) }
        }
        ProcessFigures.add(to: metrics)
        let path = common.directory.path
        metrics.gauge("chatroom_disk_free_bytes", "Free space where the data is.") {
            Double(FileStatus.freeBytes(at: path) ?? 0)
        }
    }
}
