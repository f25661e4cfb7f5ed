import ChatModel
import ClusterRouting
import Consensus
import Gateway
import GroupDriver
import History
import LogStore
import Logging
import Rooms
import ShardPlacement
import Swim
import Synchronization
import SystemGroupHost
import Webhooks

/// The parts of a node that clients, app servers and other nodes ask, from their opening to the service that asks them.
extension ChatroomNode {
    struct Parts {
        let common: Common
        let system: SystemGroup
        let membership: NodeMembership
        let reach: ReachWatch
        let gossip: ClusterGossip?
        let audit: AuditFile
        let auditRecorder: AuditRecorder
        let calls: RoomCalls
        let media: MediaHost
        let rooms: RoomHost
        let gateway: Gateway
        let callbackClient: CallbackClient
        let callbacks: AppCallbacks
        let webhookFigures: WebhookFigures
        let startedAt: Timestamp
    }

    /// How long a start waits for the system group, which a node alone has at once.
    private static let systemWait = Duration.seconds(5)

    func startSystem(_ common: Common, _ services: inout StartedServices) async throws -> SystemGroup {
        let nodes = common.nodes
        let system = SystemGroup(
            loop: common.loops[0], store: common.store, server: common.server, transport: common.router,
            replication: common.router, cluster: common.cluster, directory: common.directory.system, logger: logger,
            refusedTerms: common.refusedTerms, ownLevel: configuration.levelMax, now: common.steady,
            stop: { common.stop.stop($0) }
        ) { command, key, leader in await nodes.forward(command, key, to: leader) }
        let systemFails: (any Error) -> any Error = {
            if let reason = $0 as? UnknownContent { return NodeError(reason) }
            return ($0 as? NodeError) ?? NodeError(.storage, "the system log can't be used: \($0)")
        }
        try await services.start(stop: { system.close() }, orFail: systemFails) { try await system.start() }
        return system
    }

    func openParts(
        _ common: Common, _ system: SystemGroup, _ membership: NodeMembership, _ owner: DataOwner,
        _ services: inout StartedServices
    ) async throws -> Parts {
        let (directory, loops, router) = (common.directory, common.loops, common.router)
        let shardMap = ShardMap(shardCount: owner.shards)
        let storages = try await services.open(
            close: { storages in
                for storage in storages { storage.restIndexes() }
                for storage in storages { storage.close() }
            }
        ) {
            try Self.openStorages(
                in: directory, shardMap, configuration, level: system.level, pool: StoragePool(writers: 2, readers: 2),
                now: common.steady, removesExpired: { [cluster = common.cluster] in cluster.mayRemoveByClock })
        }
        let audit = try await services.open(
            close: { $0.close() }, orFail: { NodeError.unopened("the audit can't be used: \($0)", in: directory.path) }
        ) {
            try AuditFile.open(
                path: directory.audit, own: configuration.node,
                former: AuditFile.Former(path: directory.formerAudit, subject: AuditRecorder.formerSubject),
                retentionDays: configuration.auditRetentionDays, level: system.level,
                now: common.steady)
        }
        SearchGauges.add(to: common.metrics, of: storages)
        let calls = try await services.open(close: { await $0.stop() }) {
            await RoomCalls(node: configuration.node, loops: loops, shardMap: shardMap, router: router)
        }
        let media = try await openMedia(common, calls, system: system, services: &services)
        let callbackClient = try await services.open(close: { await $0.shutdown() }) {
            CallbackClient(
                loop: loops[loops.count - 1], allowedHosts: Set(configuration.callbackHosts),
                refusesPrivateAddresses: configuration.refusesPrivateCallbacks)
        }
        return Parts(
            common: common, system: system, membership: membership,
            reach: ReachWatch(
                own: configuration.node, nodes: common.nodes, cluster: common.cluster, system: system, logger: logger,
                hurry: { [links = links.withLock { $0?.links }] in links?.hurry($0) }),
            gossip: links.withLock { $0?.gossip },
            audit: audit, auditRecorder: AuditRecorder(node: configuration.node, file: audit), calls: calls,
            media: media,
            rooms: RoomHost(
                node: configuration.node, loops: loops, shardMap: shardMap, storages: storages, calls: calls),
            gateway: Gateway(
                configuration: configuration.gateway, loops: loops, router: router, elsewhere: common.nodes,
                seal: try KeysFile.read(configuration.keysFile).sessionSeal(), shardMap: shardMap,
                verifier: TokenGate(keys: keys, system: system), metrics: common.metrics,
                logger: logger, tls: tls, now: WallClock.now),
            callbackClient: callbackClient,
            callbacks: AppCallbacks(system: system, client: callbackClient, logger: logger),
            webhookFigures: WebhookFigures(metrics: common.metrics, now: common.steady), startedAt: WallClock.now())
    }

    /// From now on each part hears what the others have for it.
    func connect(_ parts: Parts) async {
        let (router, store) = (parts.common.router, parts.common.store)
        let (rooms, calls, gateway) = (parts.rooms, parts.calls, parts.gateway)
        router.connect(rooms, calls, gateway)
        // Leaderships that were won before there was anybody to tell.
        router.leaders.repeatAll { node, notice, isHeard in
            calls.onLeaderKnown(notice, by: node)
            if !isHeard { calls.onLeaderSuspected(notice, of: node) }
        }
        await parts.system.observe { change in
            switch change {
            case .revoked(let user, _): gateway.revoke(user)
            case .sanctioned(let user, let kind, _):
                gateway.sanction(user, kind)
                rooms.denyHeld(of: user)
            case .level(let level):
                gateway.use(features: level.clientFeatures)
                if level.brings(.logSegments) { store.useSegments() }
                rooms.use(level)
            case .setting, .nodes: break
            }
        }
    }

    /// Starts the shards. Returns when settings and revocations are known, or have been waited for.
    func startRooms(_ parts: Parts, _ services: inout StartedServices) async throws {
        let (cluster, system, rooms) = (parts.common.cluster, parts.system, parts.rooms)
        try await services.start(
            stop: { await rooms.stop() }, orFail: { NodeError(.storage, "a shard's log can't be used: \($0)") }
        ) {
            // The shards take part while the system group finds its leader: what both have to wait for after a restart
            // they wait for together.
            cluster.set(knowsSettings: false)
            try await rooms.start(dependencies(of: parts))
        }
        // Settings and revocations are to be known before anybody is served.
        if await !system.settled(within: Self.systemWait) {
            logger.warning("the system group has no leader yet; settings and revocations may be old")
        }
        // Nobody is served by a program that may not go on.
        if let reason = parts.common.stop.reason { throw NodeError(reason) }
        await parts.callbacks.start(rooms, parts.gateway)
        cluster.set(knowsSettings: true)
    }

    private func dependencies(of parts: Parts) -> RoomHost.Dependencies {
        let (common, system, media) = (parts.common, parts.system, parts.media)
        var dependencies = RoomHost.Dependencies(
            store: common.store, server: common.server, sink: common.router, transport: common.router,
            replication: common.router, policy: configuration.rooms, cluster: common.cluster, metrics: common.metrics,
            logger: logger, checkpointSeconds: configuration.checkpointSeconds, callbacks: parts.callbacks.setup(),
            now: common.steady)
        dependencies.restoreGeneration = common.identity.restoreGeneration
        dependencies.limits = roomLimits
        dependencies.stop = { common.stop.stop($0) }
        dependencies.refusedTerms = common.refusedTerms
        dependencies.takeUploadBytes = { user, bytes throws(ChatError) in
            try await media.takeUploadBytes(user, bytes)
        }
        dependencies.media = media
        dependencies.webhookFigures = parts.webhookFigures
        dependencies.silencing = { system.silencing(of: $0) }
        return dependencies
    }

    /// Tells other nodes what this one has, and answers what they ask.
    func answerNodes(_ parts: Parts, _ recent: RecentFigures) {
        notify(parts.gossip, parts.rooms, parts.gateway)
        let answers = NodeAnswers(
            configuration: configuration, rooms: parts.rooms, system: parts.system, gateway: parts.gateway,
            cluster: parts.common.identity, auditRecorder: parts.auditRecorder, logControl: logControl,
            startedAt: parts.startedAt,
            backup: NodeBackup(
                configuration, rooms: parts.rooms, system: parts.system, cluster: parts.common.identity),
            recent: recent, media: parts.media, keys: keys, reach: parts.reach)
        parts.common.nodes.use { await answers.answer($0) }
    }

    /// Starts what the node does without being asked.
    func startDuties(_ parts: Parts, _ services: inout StartedServices) async throws -> ClockWatch {
        let (membership, nodes, system) = (parts.membership, parts.common.nodes, parts.system)
        let record = NodeRecord(
            node: configuration.node, store: parts.common.server.store, linkAddress: parts.gossip?.address.text ?? "",
            clientURLs: Array(await parts.gateway.ownURLs().prefix(NodeRecord.clientURLsMax)))
        try await services.start(stop: { await membership.stop() }) {
            membership.start(record, rooms: parts.rooms, gateway: parts.gateway)
        }
        let copier = AuditCopier(own: configuration.node, file: parts.audit, nodes: nodes, system: system)
        try await services.start(stop: { await copier.stop() }) { copier.start() }
        let clocks = ClockWatch(
            own: configuration.node, nodes: nodes, cluster: parts.common.cluster, logger: logger,
            steady: parts.common.steady)
        try await services.start(stop: { await clocks.stop() }) { clocks.start() }
        let reach = parts.reach
        try await services.start(stop: { await reach.stop() }) { reach.start() }
        let (callbacks, webhookFigures) = (parts.callbacks, parts.webhookFigures)
        try await services.open(close: { await $0.stop() }) {
            SanctionTeller(
                own: configuration.node, system: system, client: parts.callbackClient, figures: webhookFigures,
                logger: logger,
                webhook: { callbacks.webhook })
        }
        try await services.open(close: { await $0.stop() }) {
            VersionWatch(
                nodes: nodes, system: system, keys: keys, raiseAfterSeconds: configuration.raiseLevelAfterSeconds,
                logger: logger)
        }
        parts.gateway.use(media: parts.media)
        let keeper = MediaKeeper(parts.media.store, pause: configuration.mediaRoundPause)
        try await services.start(stop: { await keeper.stop() }) { keeper.start() }
        return clocks
    }

    /// The service of the server API, and with it the demo.
    func service(of parts: Parts) -> NodeService {
        let (system, metrics) = (parts.system, parts.common.metrics)
        let service = NodeService(
            configuration: configuration, rooms: parts.rooms, calls: parts.calls, system: system,
            cluster: parts.common.cluster,
            keys: keys,
            gateway: parts.gateway, nodes: parts.common.nodes, membership: parts.membership, gossip: parts.gossip,
            callbacks: parts.callbacks, registry: metrics, ready: ReadyFigure(in: metrics),
            auditRecorder: parts.auditRecorder, logControl: logControl, startedAt: parts.startedAt,
            plannedStop: plannedStop, media: parts.media)
        if configuration.gateway.hasDemo {
            let nodes: @Sendable () -> Int = { system.nodes.count }
            parts.gateway.use(
                demo: DemoRooms(
                    service: service, killFile: configuration.demoKillFile, nodes: nodes, logger: logger))
        }
        return service
    }
}
