import ChatModel
import Consensus
import EventLoop
import History
import LogStore
import Logging
import Replication
import RoomLink
import Sharding
import Synchronization
import Telemetry
import Wire

/// All rooms of a node: routes calls to the loop of their shard. Gateways and the server API meet rooms only here.
public final class RoomHost: Sendable {
    private let loops: [EventLoop]
    private let shardMap: ShardMap
    private let storages: [ShardStorage]
    private let hosts = Mutex<[LoopBound<LoopHost>]>([])
    private let store = Mutex<LogStore?>(nil)
    private let node: NodeID
    private let elsewhere: any RoomsElsewhere

    /// - Parameter storages: one per shard, in order.
    public init(
        node: NodeID, loops: [EventLoop], shardMap: ShardMap, storages: [ShardStorage], elsewhere: any RoomsElsewhere
    ) {
        self.node = node
        self.elsewhere = elsewhere
        self.loops = loops
        self.shardMap = shardMap
        self.storages = storages
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
        let figures = RoomFigures(metrics: given.metrics, now: given.now)
        let copies: @Sendable ([String], UserID?, [RoomID], @escaping @Sendable (MessageCopies) -> Void) -> Void = {
            [weak self] messageIDs, user, rooms, completion in
            guard let self else {
                let error = ChatError(.unavailable, "the node is stopping", retryAfterMs: 500)
                return completion(MessageCopies(refusal: error))
            }
            self.copy(messageIDs, for: user, from: rooms, completion)
        }
        let slots = TransferSlots()
        for (number, loop) in loops.enumerated() {
            let shards = (0..<shardMap.shardCount).filter { Int($0) % loops.count == number }
            let (storages, node) = (storages, node)
            let host = try await loop.run { () throws -> LoopBound<LoopHost> in
                let callbacks = LoopCallbacks(client: given.callbacks.client)
                callbacks.words = given.callbacks.words
                callbacks.hook = given.callbacks.hook
                callbacks.setWebhook(given.callbacks.webhook)
                let context = RoomContext(
                    loop: loop, node: node, policy: given.policy, limits: given.limits, logger: given.logger,
                    figures: figures,
                    callbacks: LoopBound(onLoop: callbacks, loop: loop), sink: given.sink, server: given.server,
                    cluster: given.cluster, lostNodes: LoopBound(onLoop: [], loop: loop),
                    departed: LoopBound(onLoop: DepartedSessions(), loop: loop),
                    replication: given.replication, transfers: given.transfers, refusedTerms: given.refusedTerms,
                    transferSlots: slots, restoreGeneration: given.restoreGeneration, now: given.now, copies: copies)
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

    /// How much of a page of history a stored message takes.
    public static let shownBytes: @Sendable ([UInt8]) -> Int = { HistoryCodec.shownBytes(of: $0) }

    private func copy(
        _ messageIDs: [String], for user: UserID?, from rooms: [RoomID],
        _ completion: @escaping @Sendable (MessageCopies) -> Void
    ) {
        Task {
            completion(
                await MessageCopies.collect(messageIDs, from: rooms) { room throws(ChatError) in
                    try await ask(room, .copies(messageIDs, for: user)) { $0.copies }
                })
        }
    }

    // MARK: - Between nodes

    /// A lane of a node, maybe this one, asks what is believed of it.
    public func receive(_ request: TallyRequest, from node: NodeID) {
        onLoop(Int(request.shard.number) % loops.count) { $0.receive(request, from: node) }
    }

    /// A lane of a node, maybe this one, announces its sessions of some rooms anew: in the order of its calls.
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
    public func lost(_ node: NodeID) {
        for number in loops.indices { onLoop(number) { $0.lost(node) } }
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
        return await host.loop.run { host.value.shards[shard]?.handOver(to: node) ?? false }
    }

    /// Hands everything that this node leads to others, as far as there are any; returns when that is done, or after
    /// `limit`.
    public func handOverAll(within limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            var handedOver = 0
            for host in hosts.withLock({ $0 }) {
                handedOver += await host.loop.run { host.value.shards.values.count { $0.handOver() } }
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

    /// Calls of sessions, of this node or another, in order, for rooms that this node is believed to lead.
    public func receive(_ calls: [RoomCall]) {
        var byLoop: [Int: [(ShardID, RoomCall)]] = [:]
        for call in calls {
            let shard = shardMap.shard(of: call.room)
            byLoop[Int(shard.number) % loops.count, default: []].append((shard, call))
        }
        for (number, batch) in byLoop { onLoop(number) { $0.receive(batch) } }
    }

    // MARK: - The server API's calls

    /// A page of the rooms that this node leads, in ID order.
    public func list(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID> {
        let led = await notices().map { Int($0.shard.number) }
        let storages = storages
        let readings = led.map { number in
            let storage = storages[number]
            return Task {
                await withCheckedContinuation { (continuation: CheckedContinuation<[CatalogueRow]?, Never>) in
                    storage.rooms(after: after, limit: limit + 1) { continuation.resume(returning: try? $0.get()) }
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
        guard let value = row.value, case .room(let record)? = try? CatalogueCodec.decode(kind: .room, value) else {
            return nil
        }
        return RoomView(
            info: record.info, online: online[row.room].map { Int64($0) } ?? record.robots,
            shard: shardMap.shard(of: row.room), leader: node)
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
            do throws(ChatError) {
                if case .view(let view) = try await askHere(room, .view) { views.append(view) }
            } catch {
                // It may have been deleted since.
                guard error.code == .notFound || error.code == .unavailable else { throw error }
            }
        }
        return Page(items: views, next: rest.count > limit ? page.last?.place.cursor : nil)
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

    /// Asks the room, whose shard this node must lead: else 503.
    public func askHere(_ room: RoomID, _ question: RoomQuestion) async throws(ChatError) -> RoomAnswer {
        let shard = shardMap.shard(of: room)
        guard let target = host(of: shard) else {
            throw ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
        }
        let result: Result<RoomAnswer, ChatError> = await withCheckedContinuation { continuation in
            let call = ServerCall(room: room, question: question) { continuation.resume(returning: $0) }
            target.loop.execute { target.value.receive(call, shard) }
        }
        let answer = try result.get()
        guard case .view(var view) = answer else { return answer }
        // The node that answers leads.
        (view.shard, view.leader) = (shard, node)
        return .view(view)
    }

    private func ask<Value: Sendable>(_ room: RoomID, _ question: RoomQuestion, _ value: (RoomAnswer) -> Value?)
        async throws(ChatError) -> Value
    {
        guard let value = value(try await askLeader(room, question)) else {
            throw ChatError(.internal, "the answer is to another question")
        }
        return value
    }

    /// Asks the room's leader, on whichever node. While there is none, or another one than was thought, it waits for at
    /// most two seconds until one becomes known, or until whoever has refused is to be asked again. A durable command
    /// has an ID, so it is done once. Barrage has none: where it may have been shown, it is not sent again.
    private func askLeader(_ room: RoomID, _ question: RoomQuestion) async throws(ChatError) -> RoomAnswer {
        let question = question.repeatable
        let shard = shardMap.shard(of: room)
        let deadline = ContinuousClock.now + Self.leaderless
        while true {
            let known = elsewhere.leader(of: shard)
            let isElsewhere = known.node.map { $0 != node } ?? false
            let refusal: ChatError
            do throws(ChatError) {
                if isElsewhere, let leader = known.node { return try await elsewhere.ask(leader, room, question) }
                return try await askHere(room, question)
            } catch {
                refusal = error
            }
            guard refusal.code == .unavailable, ContinuousClock.now < deadline,
                refusal.field == ChatError.leaderField || (isElsewhere && question.mayBeDoneTwice)
            else {
                var told = refusal
                if told.field == ChatError.leaderField { told.field = nil }
                throw told
            }
            let pause = Duration.milliseconds(refusal.retryAfterMs ?? Self.pauseMilliseconds)
            await elsewhere.leaderChange(of: shard, since: known, until: min(deadline, ContinuousClock.now + pause))
        }
    }

    /// After so long a node that has refused a call is asked again when it does not say after how long.
    private static let pauseMilliseconds: Int64 = 500

    /// How long a call waits for a leader.
    private static let leaderless = Duration.seconds(2)

    /// Runs a durable command and returns its result, which is never `.refused`.
    /// - Parameters:
    ///   - profile: what the actor is to show; where it is empty, the stay's or the saved one is shown.
    ///   - moderate: whether words and hook are asked, as they are about what a member sends.
    public func perform(
        _ body: CommandBody, in room: RoomID, as actor: Actor, showing profile: Profile? = nil, moderate: Bool = false,
        id: CommandID?
    ) async throws(ChatError) -> CommandResult {
        try await ask(room, .command(body, actor, showing: profile, moderate: moderate, id: id)) { $0.command }
    }

    /// Takes one kept message back (323); one that is recalled already is left as it is. A repeat of `id` gets the
    /// first answer. Throws 404 when there is no such message, 403 for a notification, 13002 for a closed room.
    public func recall(
        _ messageID: String, in room: RoomID, as actor: Actor, id: CommandID?, options: NotifyOptions = NotifyOptions()
    ) async throws(ChatError) {
        _ = try await askLeader(room, .recall(.message(messageID), options, actor, id: id))
    }

    /// Takes back all kept messages of a user, those at or after `since` if given: in one 323, or, beyond 1,000
    /// messages, in several of at most 1,000 each, the newest messages first. When this returns, all are recalled.
    /// With nothing to recall nobody is told. Throws like `recall`.
    public func recallAll(
        of user: UserID, since: Timestamp?, in room: RoomID, as actor: Actor, id: CommandID?,
        options: NotifyOptions = NotifyOptions()
    ) async throws(ChatError) {
        _ = try await askLeader(room, .recall(.messages(of: user, since: since), options, actor, id: id))
    }

    public func view(of room: RoomID) async throws(ChatError) -> RoomView {
        try await ask(room, .view) { $0.view }
    }

    public func history(of room: RoomID, _ request: HistoryRequest) async throws(ChatError) -> ChatModel.HistoryPage {
        try await ask(room, .history(request)) { $0.history }
    }

    public func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message {
        try await ask(room, .message(messageID)) { $0.message }
    }

    public func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    {
        try await ask(room, .members(kind, after: after, limit: limit)) { $0.members }
    }

    public func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member {
        try await ask(room, .member(user)) { $0.member }
    }

    public func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult {
        try await ask(room, .queue(after: after, limit: limit)) { $0.queue }
    }

    public func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError) {
        _ = try await askLeader(room, .barrage(item))
    }

    /// The numbers of why a room is slow or silent, apart from its viewers, whom the gateways know. Answers also while
    /// nobody leads the room. Throws 404.
    public func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation {
        let shard = shardMap.shard(of: room)
        guard let target = host(of: shard) else {
            throw ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
        }
        var state: StateFigures?
        do throws(ChatError) {
            state = try await askHere(room, .explain).figures
        } catch {
            // Why there is no answer is what the log's figures tell.
            guard error.code == .unavailable else { throw error }
        }
        let node = node
        var explanation = await target.loop.run { target.value.explain(room, shard, node: node) }
        explanation.state = state
        return explanation
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
        let counts = await onlineCounts()
        return (counts.count, counts.values.reduce(0, +))
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

extension RoomQuestion {
    /// Whether asking again does no harm when nobody knows what has become of the first time.
    fileprivate var mayBeDoneTwice: Bool { if case .barrage = self { false } else { true } }

    /// A durable one gets an ID, so that it is done once, however often it has to be asked.
    fileprivate var repeatable: RoomQuestion {
        func made() -> CommandID {
            CommandID(scope: "/node", text: "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))")
        }
        return switch self {
        case .command(let body, let actor, let profile, let moderate, nil):
            .command(body, actor, showing: profile, moderate: moderate, id: made())
        case .recall(let scope, let options, let actor, nil): .recall(scope, options, actor, id: made())
        default: self
        }
    }
}

extension ChatError {
    /// The field of an error that only says that another node leads.
    static let leaderField = "leader"
}
