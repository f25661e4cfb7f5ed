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
    private let loops: [EventLoop]
    private let shardMap: ShardMap
    private let storages: [ShardStorage]
    private let hosts = Mutex<[LoopBound<LoopHost>]>([])
    private let store = Mutex<LogStore?>(nil)
    private let aging = Mutex<Aging?>(nil)
    private let node: NodeID
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

    private struct Aging: Sendable {
        let now: @Sendable () -> Timestamp
        let standardDays: Int64

        /// The oldest time of a room's messages that have not expired, as it is now.
        func keptSince(_ record: RoomRecord) -> Timestamp {
            record.visibleSince(now(), standardDays: standardDays)
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
        aging.withLock { $0 = Aging(now: given.now, standardDays: given.policy.retentionDays) }
        let figures = RoomFigures(metrics: given.metrics, now: given.now)
        let slots = TransferSlots()
        for (number, loop) in loops.enumerated() {
            let shards = (0..<shardMap.shardCount).filter { Int($0) % loops.count == number }
            let (storages, node, calls) = (storages, node, calls)
            let host = try await loop.run { () throws -> LoopBound<LoopHost> in
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
                return LoopBound(onLoop: host, loop: loop)
            }
            hosts.withLock { $0.append(host) }
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

    private func host(of shard: ShardID) -> LoopBound<LoopHost>? {
        let number = Int(shard.number) % loops.count
        return hosts.withLock { number < $0.count ? $0[number] : nil }
    }

    /// The rest of a stored message that has been recalled: everything but its body.
    public static let erased: @Sendable ([UInt8]) -> [UInt8] = { payload in
        guard var message = try? HistoryCodec.decode(payload) else { return [] }
        message.body = .recalled(message.body.type)
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

    // MARK: - Between nodes

    /// A lane of a node, maybe this one, asks what is believed of it.
    public func receive(_ request: TallyRequest, from node: NodeID) {
        onLoop(Int(request.shard.number) % loops.count) { $0.receive(request, from: node) }
    }

    /// The leader of a shard says who is at its node.
    public func receive(_ update: PresenceUpdate) {
        onLoop(Int(update.shard.number) % loops.count) { $0.receive(update) }
    }

    /// A lane of a node, maybe this one, announces its sessions of some rooms anew, in the order of its calls.
    public func receive(_ recount: LaneRecount, from node: NodeID) {
        var byLoop: [Int: [(ShardID, RoomID)]] = [:]
        for room in recount.rooms {
            let shard = shardMap.shard(of: room)
            byLoop[Int(shard.number) % loops.count, default: []].append((shard, room))
        }
        for (number, rooms) in byLoop { onLoop(number) { $0.receive(recount, from: node, rooms) } }
    }

    /// Consensus messages that another node has sent, of any shards.
    public func receive(_ messages: [RaftMessage]) {
        var byLoop: [Int: [RaftMessage]] = [:]
        for message in messages { byLoop[Int(message.group.number) % loops.count, default: []].append(message) }
        for (number, batch) in byLoop {
            onLoop(number) { $0.receive(batch) }
        }
    }

    /// Takes a message of another node's replica of a shard.
    public func receive(replication message: ReplicationMessage, from node: NodeID) {
        let shard = ShardID(message.group.number)
        onLoop(Int(shard.number) % loops.count) { $0.receive(message, from: node, shard) }
    }

    /// A node is connected that was not before: it may have begun anew.
    public func reached(_ node: NodeID) {
        for number in loops.indices { onLoop(number) { $0.reached(node) } }
    }

    /// The connection to a node has ended: its gateway's sessions are away, and it leads nothing that others know of.
    public func onNodeLost(_ node: NodeID) {
        for number in loops.indices { onLoop(number) { $0.onNodeLost(node) } }
    }

    /// The shards that this node leads, for a node that it has just been connected to.
    public func notices() async -> [ShardNotice] {
        var all: [ShardNotice] = []
        for host in hosts.withLock({ $0 }) { all += await host.loop.run { host.value.notices } }
        return all
    }

    /// Hands a shard's leadership to another node. False when this node does not lead it, or the other can't take it.
    public func transfer(_ shard: ShardID, to node: NodeID) async -> Bool {
        guard let host = host(of: shard) else { return false }
        return await host.loop.run { host.value.shards[shard]?.transferLeadership(to: node) ?? false }
    }

    /// Hands everything that this node leads to others, as far as there are any, and takes no leadership from now on;
    /// returns when that is done, or after `limit`.
    public func transferAllLeaderships(within limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        for host in hosts.withLock({ $0 }) {
            await host.loop.run { for shard in host.value.shards.values { shard.log.beginStopping() } }
        }
        while ContinuousClock.now < deadline {
            var handedOver = 0
            for host in hosts.withLock({ $0 }) {
                handedOver += await host.loop.run { host.value.shards.values.count { $0.transferLeadership() } }
            }
            guard handedOver > 0 else { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Copies every shard that this node leads, one after the other, while they go on. Each copy has all that was acked
    /// before it began.
    ///
    /// - Parameter path: where to, a directory of each shard's own.
    /// - Returns: of each copied shard the entry of its log up to which the copy goes.
    public func backUp(to path: @Sendable (ShardID) -> String) async throws(StorageError) -> [ShardID: UInt64] {
        var copied: [ShardID: UInt64] = [:]
        for shard in await notices().map(\.shard).sorted() {
            guard await confirmsLead(of: shard) else { continue }
            let (storage, directory) = (storages[Int(shard.number)], path(shard))
            let result: Result<UInt64, StorageError> = await withCheckedContinuation { continuation in
                storage.backup(to: directory) { continuation.resume(returning: $0) }
            }
            copied[shard] = try result.get()
        }
        return copied
    }

    private func confirmsLead(of shard: ShardID) async -> Bool {
        guard let target = host(of: shard) else { return false }
        return await withCheckedContinuation { continuation in
            target.loop.execute {
                guard let host = target.value.shards[shard] else { return continuation.resume(returning: false) }
                host.confirmLead { continuation.resume(returning: $0) }
            }
        }
    }

    private func onLoop(_ number: Int, _ body: @escaping @Sendable (LoopHost) -> Void) {
        guard let target = hosts.withLock({ number < $0.count ? $0[number] : nil }) else { return }
        if target.loop.isOnLoop { body(target.value) } else { target.loop.execute { body(target.value) } }
    }

    /// Requests of this node or another, in order, to rooms that this node is believed to lead.
    public func receive(_ requests: [RoomRequest]) {
        var byLoop: [Int: [(ShardID, RoomRequest)]] = [:]
        for request in requests {
            let shard = shardMap.shard(of: request.room)
            byLoop[Int(shard.number) % loops.count, default: []].append((shard, request))
        }
        for (number, batch) in byLoop { onLoop(number) { $0.receive(batch) } }
    }

    // MARK: - What the node is asked

    /// How many rooms there are that this node leads.
    public func count() async throws(ChatError) -> Int {
        let readings = await notices().map { notice in
            let storage = storages[Int(notice.shard.number)]
            return Task {
                await withCheckedContinuation { (continuation: CheckedContinuation<Int?, Never>) in
                    storage.count(.room) { continuation.resume(returning: try? $0.get()) }
                }
            }
        }
        var sum = 0
        for reading in readings {
            guard let count = await reading.value else { throw ChatError(.internal, "the catalogue can't be read") }
            sum += count
        }
        return sum
    }

    /// A page of the rooms that this node leads, in ID order.
    /// - Parameter deleted: those that were deleted and can be had back, in place of those that exist.
    public func list(after: RoomID?, limit: Int, deleted: Bool = false) async throws(ChatError)
        -> Page<RoomView, RoomID>
    {
        let led = await notices().map { Int($0.shard.number) }
        let storages = storages
        let kind = deleted ? CatalogueKind.deletedRoom : .room
        let readings = led.map { number in
            let storage = storages[number]
            return Task {
                await withCheckedContinuation { (continuation: CheckedContinuation<[CatalogueRow]?, Never>) in
                    storage.rooms(kind, after: after, limit: limit + 1) {
                        continuation.resume(returning: try? $0.get())
                    }
                }
            }
        }
        var pages: [[CatalogueRow]?] = []
        for reading in readings { pages.append(await reading.value) }
        guard pages.allSatisfy({ $0 != nil }) else { throw ChatError(.internal, "the catalogue can't be read") }
        let rows = pages.compactMap { $0 }.joined().sorted { $0.room < $1.room }
        let online = await onlineCounts()
        let items = rows.prefix(limit).compactMap { view($0, online) }
        return Page(items: items, next: rows.count > limit ? items.last?.info.id : nil)
    }

    private func view(_ row: CatalogueRow, _ online: [RoomID: Int]) -> RoomView? {
        guard let bytes = row.value, let kind = CatalogueKind(rawValue: row.kind),
            let value = try? CatalogueCodec.decode(kind: kind, bytes)
        else { return nil }
        let shard = shardMap.shard(of: row.room)
        switch value {
        case .room(let record):
            var info = record.info
            let keptSince = aging.withLock { $0 }?.keptSince(record) ?? Timestamp(.min)
            info.pinned.removeAll { $0.time < keptSince }
            return RoomView(
                info: info, online: online[row.room].map { Int64($0) } ?? record.robots, shard: shard,
                leader: node)
        case .deletedRoom(let deleted):
            var view = RoomView(info: deleted.room.info, online: 0, shard: shard, leader: node)
            (view.deletedAt, view.purgeAt) = (deleted.deletedAt, deleted.purgeAt)
            return view
        default: return nil
        }
    }

    /// A page of the rooms in memory, those with the most people first.
    /// - Parameter after: the cursor of an earlier page. Throws 414 for what is none.
    public func byOnline(after: String?, limit: Int) async throws(ChatError) -> Page<RoomView, String> {
        let start = after.flatMap(OnlinePlace.init(cursor:))
        guard after == nil || start != nil else {
            throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
        }
        let rest = await onlineCounts().map { (room: $0.key, place: OnlinePlace($0.key, online: $0.value)) }
            .filter { row in start.map { $0 < row.place } ?? true }.sorted { $0.place < $1.place }
        let page = rest.prefix(limit)
        var views: [RoomView] = []
        for (room, _) in page {
            // It may have been deleted since, or have left memory.
            if let view = await viewHere(room) { views.append(view) }
        }
        return Page(items: views, next: rest.count > limit ? page.last?.place.cursor : nil)
    }

    /// A room in memory, if this node leads it.
    private func viewHere(_ room: RoomID) async -> RoomView? {
        let (shard, node) = (shardMap.shard(of: room), node)
        guard let target = host(of: shard) else { return nil }
        return await target.loop.run {
            guard let shardHost = target.value.shards[shard], shardHost.isServing,
                var view = shardHost.rooms[room]?.assumeIsolated({ $0.roomView })
            else { return nil }
            (view.shard, view.leader) = (shard, node)
            return view
        }
    }

    private func onlineCounts() async -> [RoomID: Int] {
        var counts: [RoomID: Int] = [:]
        for host in hosts.withLock({ $0 }) {
            let some = await host.loop.run { host.value.onlineCounts() }
            counts.merge(some) { $0 + $1 }
        }
        return counts
    }

    public func shard(of room: RoomID) -> ShardID { shardMap.shard(of: room) }
    public var shardCount: UInt16 { shardMap.shardCount }

    /// The figures of the log of a room's shard, as this node has it. Throws 503 while the node is starting.
    public func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation {
        let shard = shardMap.shard(of: room)
        guard let target = host(of: shard) else {
            throw ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
        }
        let node = node
        return await target.loop.run { target.value.explain(room, shard, node: node) }
    }

    /// The status of a shard's group, for operators.
    public struct ShardStatus: Sendable {
        public var shard: ShardID
        public var leader: NodeID?
        public var replicas: [NodeID]
        /// The same with their stores: a node that has lost its disk is another server.
        public var voters: [ServerID]
        public var term: UInt64
        public var applied: UInt64
    }

    /// All shards that this node holds, in order.
    public func shards() async -> [ShardStatus] {
        var all: [ShardStatus] = []
        for host in hosts.withLock({ $0 }) {
            all += await host.loop.run {
                host.value.shards.map { shard, host in
                    ShardStatus(
                        shard: shard, leader: host.log.leader.flatMap { NodeID($0.node) },
                        replicas: host.replicas,
                        voters: host.log.membership.voters,
                        term: host.log.term, applied: host.log.appliedIndex)
                }
            }
        }
        return all.sorted { $0.shard < $1.shard }
    }

    /// How many people are in how many rooms.
    public func onlineTotals() async -> (rooms: Int, online: Int) {
        var totals = (rooms: 0, online: 0)
        for host in hosts.withLock({ $0 }) {
            let some = await host.loop.run { host.value.onlineTotals }
            totals = (totals.rooms + some.rooms, totals.online + some.online)
        }
        return totals
    }

    /// nil when all shards are open, or a sentence that says what is missing.
    public func unreadiness() async -> String? {
        let all = hosts.withLock { $0 }
        guard all.count == loops.count else { return "the shards are being opened" }
        let store = store.withLock { $0 }
        if let failure = store?.refusal { return "the log is not written any more: \(failure.message)" }
        if let failure = store?.status.failure {
            return "the log can't be written (\(failure.message)); this node leads nothing that another one can lead"
        }
        for (shard, storage) in zip(0..., storages) {
            guard let failure = storage.diskFailure else { continue }
            return "the files of shard \(shard) can't be written (\(failure.message))"
        }
        return nil
    }
}
