import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import LogStore
import Logging
import Replication
import ReplicationDriver
import RoomProtocol
import ShardPlacement
import Synchronization
import Telemetry
import Webhooks
import Wire

/// All rooms of a node: routes calls to the loop of their shard. Gateways and the server API meet rooms only here.
public final class RoomHost: Sendable {
    let loops: [EventLoop]
    let shardMap: ShardMap
    let storages: [ShardStorage]
    let hosts = Mutex<[LoopBound<LoopHost>]>([])
    let store = Mutex<LogStore?>(nil)
    let aging = Mutex<Aging?>(nil)
    let node: NodeID
    private let calls: RoomCalls

    /// - Parameters:
    ///   - storages: one per shard, in order.
    ///   - calls: by which rooms ask rooms for the messages of a COMBINE.
    public init(
        node: NodeID, loops: [EventLoop], shardMap: ShardMap, storages: [ShardStorage], calls: RoomCalls
    ) {
        self.node = node
        self.calls = calls
        self.loops = loops
        self.shardMap = shardMap
        self.storages = storages
    }

    struct Aging: Sendable {
        let now: @Sendable () -> Timestamp
        let policy: RoomPolicy

        /// The oldest time of a room's messages that have not expired, as it is now.
        func keptSince(_ record: RoomRecord) -> Timestamp {
            record.visibleSince(now(), standardDays: policy.retentionDays)
        }
    }

    public struct Dependencies: Sendable {
        public var store: LogStore
        public var server: ServerID
        public var sink: any PublicationSink
        public var transport: any ConsensusTransport
        public var policy: RoomPolicy
        public var limits = RoomLimits()
        public var metrics: MetricsRegistry
        public var logger: Logger
        public var now: @Sendable () -> Timestamp
        public var checkpointSeconds: Int
        public var callbacks: CallbackSetup
        public var cluster: ClusterView
        public var replication: any ReplicationTransport
        public var transfers = TransferConfiguration()
        /// Counts messages that name terms which no election leads to.
        public var refusedTerms: Counter?
        /// The restore generation of the cluster: part of every room's epoch.
        public var restoreGeneration: UInt64 = 0
        /// Ends the node, because a shard has content that this program does not understand. Called once or more often.
        public var stop: @Sendable (UnknownContent) -> Void = { _ in }
        /// Takes bytes of content from what a user may send in a day.
        public var takeUploadBytes: UploadAllowance = { _, _ in }
        /// App-wide sanctions, as this node knows them. Called on the loops; it does not block.
        public var silencing: Silencing = { _ in nil }
        public var media: (any RoomMedia)?
        /// Those that others count in as well; nil: rooms have their own.
        package var webhookFigures: WebhookFigures?
        /// Entries kept in each shard's log for replicas that are behind; one that is further behind gets a snapshot.
        public var entriesRetained = GroupLog.entriesRetained

        public init(
            store: LogStore, server: ServerID, sink: any PublicationSink, transport: any ConsensusTransport,
            replication: any ReplicationTransport = NoReplication(), policy: RoomPolicy, cluster: ClusterView,
            metrics: MetricsRegistry, logger: Logger, checkpointSeconds: Int, callbacks: CallbackSetup,
            now: @escaping @Sendable () -> Timestamp
        ) {
            self.callbacks = callbacks
            self.store = store
            self.server = server
            self.sink = sink
            self.cluster = cluster
            self.replication = replication
            self.transport = transport
            self.policy = policy
            self.metrics = metrics
            self.logger = logger
            self.checkpointSeconds = checkpointSeconds
            self.now = now
        }
    }

    /// Opens every shard and begins to serve. Throws `RaftError` when a log contradicts itself.
    public func start(_ given: Dependencies) async throws {
        store.withLock { $0 = given.store }
        aging.withLock { $0 = Aging(now: given.now, policy: given.policy) }
        let figures = RoomFigures(metrics: given.metrics, webhook: given.webhookFigures, now: given.now)
        let slots = TransferSlots()
        // All at once: each waits for its shards' logs, which one thread reads.
        let started = StartedHosts()
        let results = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            for (number, loop) in loops.enumerated() {
                group.addTask { [self] in
                    do {
                        return .success(try await startHost(number, on: loop, given, figures, slots, started))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // `stop` knows only of the loops in front of one that has failed.
        for host in started.behindFailed { await host.loop.run { host.value.stop() } }
        for result in results { try result.get() }
    }

    /// Loops that have begun. They are known by their numbers, so each is made known behind those in front of it.
    private final class StartedHosts: Sendable {
        private let waiting = Mutex<[Int: LoopBound<LoopHost>]>([:])

        var behindFailed: [LoopBound<LoopHost>] { waiting.withLock { Array($0.values) } }

        func add(_ number: Int, _ host: LoopBound<LoopHost>, to hosts: borrowing Mutex<[LoopBound<LoopHost>]>) {
            waiting.withLock { waiting in
                waiting[number] = host
                hosts.withLock { hosts in
                    while let next = waiting.removeValue(forKey: hosts.count) { hosts.append(next) }
                }
            }
        }
    }

    /// The shards of a loop.
    private func startHost(
        _ number: Int, on loop: EventLoop, _ given: Dependencies, _ figures: RoomFigures, _ slots: TransferSlots,
        _ started: StartedHosts
    ) async throws {
        let shards = (0..<shardMap.shardCount).filter { Int($0) % loops.count == number }
        try await loop.run { [self] () throws in
            let callbacks = LoopCallbacks(client: given.callbacks.client)
            callbacks.words = given.callbacks.words
            callbacks.hook = given.callbacks.hook
            callbacks.hold = given.callbacks.hold
            callbacks.setWebhook(given.callbacks.webhook)
            let context = RoomContext(
                loop: loop, node: node, policy: given.policy, limits: given.limits, logger: given.logger,
                figures: figures,
                callbacks: LoopBound(onLoop: callbacks, loop: loop), sink: given.sink, server: given.server,
                cluster: given.cluster, lostNodes: LoopBound(onLoop: [], loop: loop),
                departed: LoopBound(onLoop: DepartedSessions(), loop: loop),
                replication: given.replication, transfers: given.transfers, refusedTerms: given.refusedTerms,
                transferSlots: slots, restoreGeneration: given.restoreGeneration, stop: given.stop,
                now: given.now, calls: calls, takeUploadBytes: given.takeUploadBytes,
                silencing: given.silencing, media: given.media)
            let host = LoopHost(
                context: context, store: given.store, transport: given.transport,
                checkpointSeconds: given.checkpointSeconds)
            for shard in shards {
                try host.add(
                    ShardID(shard), server: given.server, store: given.store, storage: storages[Int(shard)],
                    entriesRetained: given.entriesRetained)
            }
            host.start()
            started.add(number, LoopBound(onLoop: host, loop: loop), to: hosts)
        }
    }

    /// Ends the hosts' part in the turns' work: what was applied is on its way to storage when this returns.
    public func stop() async {
        for host in hosts.withLock({ $0 }) {
            await host.loop.run { host.value.stop() }
        }
    }

    /// Changes what the rooms of each loop are told of the app's callbacks.
    func onEachLoop(_ body: @escaping @Sendable (LoopCallbacks) -> Void) async {
        for host in hosts.withLock({ $0 }) {
            await host.loop.run { body(host.value.callbacks) }
        }
    }

    /// A user was banned or muted in all rooms: what waits of it is denied where this node leads. Returns at once; to be called
    /// behind the change of what `silencing` says.
    public func denyHeld(of user: UserID) {
        for host in hosts.withLock({ $0 }) {
            host.loop.execute { host.value.denyHeld(of: user) }
        }
    }

    /// The cluster's level, as this node has heard: at a start it may not know it yet. Returns at once.
    public func use(_ level: FeatureLevel) {
        for storage in storages { storage.use(level) }
    }

    func host(of shard: ShardID) -> LoopBound<LoopHost>? {
        let number = Int(shard.number) % loops.count
        return hosts.withLock { number < $0.count ? $0[number] : nil }
    }

    /// The rest of a stored message that has been recalled: everything but its body.
    public static let erased: @Sendable ([UInt8]) -> [UInt8] = { payload in
        guard var message = try? HistoryCodec.decode(payload) else { return [] }
        message.body = .recalled(message.type)
        return HistoryCodec.encode(message)
    }

    /// Whether a stored message was amended.
    public static let isAmended: @Sendable ([UInt8]) -> Bool = { HistoryCodec.isAmended($0) }

    /// How much of a page of history a stored message takes.
    public static let shownBytes: @Sendable ([UInt8]) -> Int = { HistoryCodec.shownBytes(of: $0) }

    /// The seq of the message that a stored message quotes.
    public static let quotedSeq: @Sendable ([UInt8]) -> UInt64? = { HistoryCodec.quotedSeq(in: $0) }

    /// The texts in which a search finds a stored message.
    public static let searchedText: @Sendable ([UInt8]) -> String = { HistoryCodec.searchedText(in: $0) }

    /// A stored message without its quote.
    public static let withoutQuote: @Sendable ([UInt8]) -> [UInt8] = { HistoryCodec.withoutQuote($0) }
}
