import ChatModel
import ClusterRouting
import Consensus
import EventLoop
import FoundationEssentials
import Gateway
import GroupDriver
import History
import LogStore
import Logging
import Media
import NodeLink
import Rooms
import ServerAPI
import ServiceLifecycle
import ShardPlacement
import SwimDriver
import Synchronization
import SystemGroupHost
import TLS
import Telemetry

/// One node: what it is configured with, and what can be told to it while it runs.
public final class ChatroomNode: Service, Sendable {
    let configuration: NodeConfiguration
    let logger: Logger
    let logControl: LogControl
    let keys: TokenKeys
    let tls: TLSContext?
    let apiCertificate: APICertificate?
    let roomLimits: RoomLimits
    /// While it serves.
    let gateway = Mutex<Gateway?>(nil)
    let plannedStop = PlannedStop()
    /// While it is open.
    let media = Mutex<MediaHost?>(nil)
    /// While it belongs to a cluster.
    let links = Mutex<Links?>(nil)
    let onReady: @Sendable (NodePorts) -> Void
    let certificates = CertificateDates()

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
        certificates.note(tls?.validity, .client, at: WallClock.now(), logger)
        apiCertificate = configuration.apiTLS ? try configuration.tls?.apiCertificate() : nil
        let file = try KeysFile.read(configuration.keysFile)
        keys = try await TokenKeys(file, keySets: KeySetReader(logger: logger), now: WallClock.now)
        Self.warn(of: file, logger)
    }

    private static func warn(of file: KeysFile, _ logger: Logger) {
        let names = file.keysOfUnknownRoles
        if !names.isEmpty {
            logger.warning(
                "keys have a role that this program does not know; they may do nothing", metadata: ["keys": "\(names)"])
        }
        if file.admin.isEmpty, file.keySets.isEmpty, !file.token.contains(where: { $0.use == .admin }) {
            logger.warning("the keys file has no admin key: nobody may use the server API")
        }
        if file.token.isEmpty, file.keySets.isEmpty {
            logger.warning("the keys file has no key of tokens: nobody can log in with one")
        }
    }

    /// Reads keys and certificates again and takes over the limits of `new` (SIGHUP); everything else of it waits for
    /// the next start. On an error all stays as it was.
    public func reload(_ new: NodeConfiguration) async throws(NodeError) {
        let file = try KeysFile.read(new.keysFile)
        let files = new.tls ?? configuration.tls
        let context = tls == nil ? nil : try files?.clientContext()
        let certificate = apiCertificate == nil ? nil : try files?.apiCertificate()
        let (links, gossip) = links.withLock { ($0?.links, $0?.gossip) }
        let linkTLS =
            configuration.linkTLS == nil
            ? nil
            : try (new.linkTLS ?? configuration.linkTLS)?.read(
                for: configuration.node)
        let ring = try file.clusterRing()
        guard ring != nil || links == nil else { throw Self.linksWithoutKey }
        let mediaSigner = try new.mediaStore.signer()
        try await keys.replace(with: file)
        Self.warn(of: file, logger)
        if let ring {
            await gossip?.use(ring)
            await links?.use(ring)
        }
        if let linkTLS { await links?.use(linkTLS) }
        certificates.note(context?.validity, .client, at: WallClock.now(), logger)
        certificates.note(linkTLS?.validity, .link, at: WallClock.now(), logger)
        if let certificate { apiCertificate?.renew(from: certificate) }
        if let ring { media.withLock { $0 }?.use(MediaSeal(secrets: ring.mediaSecrets)) }
        if let mediaSigner { media.withLock { $0 }?.use(mediaSigner) }
        roomLimits.entersPerSecond = new.roomEntersPerSecond
        let waiting = configuration.waitingForStart(new)
        if !waiting.isEmpty {
            logger.warning(
                "changed settings wait for the next start", metadata: ["settings": "\(waiting.joined(separator: ", "))"]
            )
        }
        await gateway.withLock { $0 }?.reload(
            limits: new.gateway, tls: context, seal: ring.map { SessionSeal(secrets: $0.sessionSecrets) })
    }

    /// Creates a cluster of this one node in its data directory: one explicit act, never repeated.
    public static func createCluster(_ configuration: NodeConfiguration, logger: Logger) async throws(NodeError) {
        let directory = DataDirectory(path: configuration.dataDirectory)
        try directory.create()
        let store = try openLog(configuration, directory, create: configuration.levelMax, metrics: nil)
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
                ownLevel: configuration.levelMax, now: WallClock.now, forward: Self.nobodyElse)
            try await system.start()
            try await system.create(identity, node: configuration.node)
            // The turn that has answered begins to write the state. It lets the log trim itself when it is written, and the log
            // tells the loop when it has: all of it before the loop ends.
            await loop.run {}
            system.close()
            await loop.run {}
            store.close()
            await loop.run {}
            loop.shutdown()
            await loop.joined()
            owner = DataOwner(cluster: identity.id, shards: identity.shardCount, node: configuration.node.text)
        } catch {
            throw NodeError(.storage, "the cluster can't be created: \(error)")
        }
        try directory.complete(owner)
    }

    /// There is no other node yet.
    private static let nobodyElse: SystemGroup.Forward = { _, _, _ in
        .refused(ChatError(.unavailable, "there is no other node", retryAfterMs: 500))
    }

    /// - Parameter level: makes a new log, as far as programs of this level know it; nil: there is one.
    static func openLog(
        _ configuration: NodeConfiguration, _ directory: DataDirectory, create level: FeatureLevel?,
        metrics: MetricsRegistry?
    ) throws(NodeError) -> LogStore {
        var options = LogStoreConfiguration(directory: directory.log)
        options.create = level != nil
        options.makesSegments = level?.brings(.logSegments) ?? false
        options.syncDelayMicroseconds = UInt32(configuration.syncDelayMicroseconds)
        if let metrics {
            let syncs = metrics.durations("chatroom_log_sync_seconds", "How long one sync of the log took.")
            options.onSync = { duration, _ in syncs.record(seconds: duration / .seconds(1)) }
        }
        do {
            return try LogStore.open(options)
        } catch {
            throw NodeError.unopened("the log in \(directory.log) can't be opened: \(error)", in: directory.log)
        }
    }

    /// Makes an empty data directory for this node in the cluster that its seeds belong to. Asks until one answers.
    func joinCluster(_ directory: DataDirectory) async throws {
        guard let ring = try KeysFile.read(configuration.keysFile).clusterRing() else { throw Self.seedsWithoutKey }
        let loop = try EventLoop(name: "join")
        loop.start()
        defer { loop.shutdown() }
        var saidAt: ContinuousClock.Instant?
        while true {
            do throws(NodeError) {
                let identity = try await ClusterLinks.askIdentity(configuration, ring: ring, loop: loop)
                guard let shards = UInt16(exactly: identity.shards), shards > 0 else {
                    throw NodeError(.address, "a seed names \(identity.shards) shards")
                }
                try directory.create()
                // The cluster's level will be known later.
                try Self.openLog(configuration, directory, create: .first, metrics: nil).close()
                try directory.complete(
                    DataOwner(cluster: identity.cluster, shards: shards, node: configuration.node.text))
                logger.notice("joining a cluster", metadata: ["cluster": "\(identity.cluster)"])
                return
            } catch {
                guard error.code == .address else { throw error }
                // The reason may be another one by now.
                if saidAt.map({ .now - $0 >= .seconds(60) }) ?? true {
                    logger.warning("no seed answers yet", metadata: ["error": "\(error.message)"])
                    saidAt = .now
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    static let linksWithoutKey = NodeError(
        .configuration, "the keys file has no cluster key, and this node has links to others")

    static let seedsWithoutKey = NodeError(.configuration, "link.seeds needs a cluster key in the keys file")

    static func openStorages(
        in directory: DataDirectory, _ shardMap: ShardMap, _ configuration: NodeConfiguration, level: FeatureLevel,
        pool: StoragePool, now: @escaping @Sendable () -> Timestamp = WallClock.now,
        removesExpired: @escaping @Sendable () -> Bool = { true }
    ) throws(NodeError) -> [ShardStorage] {
        do {
            var options = StorageConfiguration(now: now)
            options.removesExpired = removesExpired
            options.retentionDays = configuration.rooms.retentionDays
            options.level = level
            options.erased = RoomHost.erased
            options.isAmended = RoomHost.isAmended
            options.shownBytes = RoomHost.shownBytes
            options.quotedSeq = RoomHost.quotedSeq
            options.withoutQuote = RoomHost.withoutQuote
            options.visibleSince = RoomHost.visibleSince(standardDays: configuration.rooms.retentionDays)
            if configuration.isSearchEnabled {
                options.search = SearchConfiguration(text: RoomHost.searchedText)
                options.search?.isAhead = configuration.isSearchAhead
            }
            return try ShardStorage.open(
                (0..<shardMap.shardCount).map { (ShardID($0), directory.shard($0)) }, pool: pool,
                configuration: options)
        } catch {
            throw NodeError.unopened("the rooms' storage can't be opened: \(error)", in: directory.path)
        }
    }
}

/// The ports a node has bound.
public struct NodePorts: Sendable, Hashable {
    public var client: Int
    public var api: Int
}
