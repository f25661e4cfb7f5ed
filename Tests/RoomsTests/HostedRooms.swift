import ChatModel
import Consensus
import EventLoop
import Foundation
import GroupDriver
import History
import LogStore
import Logging
import RoomCore
import RoomProtocol
import ShardPlacement
import StorageTestKit
import Synchronization
import SystemGroupHost
import Telemetry
import Testing
import WaitTestKit
import Webhooks
import Wire

@testable import Rooms

/// What rooms told one lane, in order, and whoever waits for some of it.
final class ToldOutputs: PublicationSink {
    private struct Waiter {
        var isWanted: @Sendable ([RoomOutput]) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var outputs: [RoomOutput] = []
        var waiters: [Waiter] = []
        var tallies: [ShardTallies] = []
    }

    private let state = Mutex(State())
    private let ledCount = Atomic<Int>(0)
    private let calls = Mutex<(node: NodeID, calls: RoomCalls)?>(nil)

    /// These calls hear what the node's rooms answer, and whether it leads.
    func notify(_ calls: RoomCalls, of node: NodeID) { self.calls.withLock { $0 = (node, calls) } }

    func answer(_ answers: [NodeID: [ServerAnswer]]) {
        guard let (node, calls) = calls.withLock({ $0 }) else { return }
        for answers in answers.values { calls.hear(answers, from: node) }
    }

    /// Takes what other replicas are told.
    private let replicas = Mutex<(@Sendable (PresenceUpdate, NodeID) -> Void)?>(nil)

    func connect(replicas: @escaping @Sendable (PresenceUpdate, NodeID) -> Void) {
        self.replicas.withLock { $0 = replicas }
    }

    func replicate(_ update: PresenceUpdate, to nodes: [NodeID]) {
        guard let replicas = replicas.withLock({ $0 }) else { return }
        for node in nodes { replicas(update, node) }
    }

    var all: [RoomOutput] { state.withLock { $0.outputs } }

    /// What lanes were told of themselves.
    var tallies: [ShardTallies] { state.withLock { $0.tallies } }

    func notify(_ tallies: ShardTallies, to node: NodeID) { state.withLock { $0.tallies.append(tallies) } }

    func deliver(_ turn: [NodeID: [NodePublication]]) {
        let due = state.withLock { state in
            state.outputs += turn.values.joined().flatMap(\.outputs).map(\.output)
            let due = state.waiters.filter { $0.isWanted(state.outputs) }
            state.waiters.removeAll { $0.isWanted(state.outputs) }
            return due
        }
        for waiter in due { waiter.continuation.resume() }
    }

    func onLeading(_ notice: ShardNotice) {
        if let (node, calls) = calls.withLock({ $0 }) { calls.onLeaderKnown(notice, by: node) }
        ledCount.add(1, ordering: .relaxed)
    }

    /// Waits until the shard has got a leader so many times.
    func led(times: Int) async {
        do {
            try await poll("the shard is led") { self.ledCount.load(ordering: .relaxed) >= times }
        } catch { Issue.record(error) }
    }

    func onLeadingEnded(_ shard: ShardID) {
        if let (node, calls) = calls.withLock({ $0 }) { calls.onLeaderLost(node, shard) }
    }

    func onLeaderConfirmed(_ leader: NodeID, _ notice: ShardNotice) {}

    func onLeaderSuspected(_ leader: NodeID, _ notice: ShardNotice) {}

    func pulse(_ led: [ShardNotice], _ tallies: [NodeID: [ShardID: [LaneTally]]]) {}

    /// What never comes is an issue.
    private func wait(until isWanted: @escaping @Sendable ([RoomOutput]) -> Bool) async {
        do {
            try await withDeadline("an output of a room") { [self] in
                await withCheckedContinuation { continuation in
                    let isDue = state.withLock { state in
                        if isWanted(state.outputs) { return true }
                        state.waiters.append(Waiter(isWanted: isWanted, continuation: continuation))
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            }
        } catch { Issue.record(error) }
    }

    /// The answer to a request, as soon as it is there.
    func answer(to request: UInt32) async -> Result<OperationResult, ChatError> {
        await wait { outputs in outputs.contains { $0.answer(to: request) != nil } }
        let outputs = all
        guard let place = outputs.firstIndex(where: { $0.answer(to: request) != nil }),
            let answer = outputs[place].answer(to: request)
        else { return .failure(ChatError(.internal, "no answer")) }
        guard case .entered(_, _, .success(let result), let after?) = outputs[place] else { return answer }
        return Self.whole(result, missedAfter: after, outputs[..<place])
    }

    /// What the session's client is told, from what the lane was told before.
    private static func whole(
        _ result: EnterResult, missedAfter after: UInt64, _ outputs: ArraySlice<RoomOutput>
    ) -> Result<OperationResult, ChatError> {
        var heard: [UInt64: MissedMessages] = [:]
        for case .missed(let missed) in outputs {
            if let missed { heard[missed.after] = missed } else { heard = [:] }
        }
        guard let missed = heard[after]?[.json] else {
            return .failure(ChatError(.internal, "the lane was not told what was missed"))
        }
        var reply: [UInt8] = []
        result.appendReply(id: 1, missed: missed, in: .json, to: &reply)
        var answer = Result<OperationResult, ChatError>.failure(ChatError(.internal, "no reply"))
        do {
            try reply.withUnsafeBytes {
                try ServerFrame.items(inJSON: $0) { if case .reply(_, let result) = $0 { answer = result } }
            }
        } catch { Issue.record(error) }
        return answer
    }

    /// How often something was told of what was missed.
    var missedCount: Int { all.count { if case .missed(_?) = $0 { true } else { false } } }
}

extension RoomOutput {
    fileprivate func answer(to wanted: UInt32) -> Result<OperationResult, ChatError>? {
        switch self {
        case .reply(_, let request, let result, _, _) where request == wanted: result
        case .entered(_, let request, let result, _) where request == wanted: result.map { .enter($0) }
        case .exited(_, let request) where request == wanted: .success(.exit)
        default: nil
        }
    }
}

/// There are no other nodes: everything is asked of the rooms of this one.
final class OwnRooms: RoomRouter {
    private let rooms = Mutex<RoomHost?>(nil)

    func connect(_ rooms: RoomHost) { self.rooms.withLock { $0 = rooms } }

    func route(_ requests: [RoomRequest], to node: NodeID, from lane: Int) {
        rooms.withLock { $0 }?.receive(requests)
    }

    func ask(_ request: TallyRequest, of node: NodeID) {}
    func recount(_ recount: LaneRecount, at node: NodeID) {}
    func notify(_ uses: [UserUse]) {}
    func drop(_ node: NodeID) {}
    func reaches(_ node: NodeID) -> Bool { true }
}

/// There are no other nodes.
struct NoTransport: ConsensusTransport {
    func send(_ messages: [RaftMessage]) {}
}

/// The rooms of a node with one shard on one loop, without a gateway: tests are the lane that calls them.
final class HostedRooms: Sendable {
    struct Options: Sendable {
        var policy = RoomPolicy()
        /// The log's disk.
        var disk: FaultDisk?
        /// Which storage beside the log; another one than before has to be filled from the log.
        var storage = "first"
        var waitingLoadsMax = 1_024
        var hotTailRows = Limits.hotTailMessages
        var checkpointSeconds = 3_600
        var now = HostedRooms.now
        /// The cluster's.
        var level = FeatureLevel.first
        var silencing: Silencing = { _ in nil }
    }

    static let room = known(RoomID("r"))
    let rooms: RoomHost
    /// The server API's.
    let calls: RoomCalls
    let told = ToldOutputs()
    let metrics = MetricsRegistry()
    private let loop: EventLoop
    private let store: LogStore
    private let pool: StoragePool
    let storage: ShardStorage
    private let callbacks: CallbackClient
    private let requests = Atomic<UInt32>(0)

    private init(_ directory: TemporaryDirectory, create: Bool, _ options: Options) async throws {
        loop = try EventLoop(name: "rooms")
        loop.start()
        callbacks = CallbackClient(loop: loop)
        var log = LogStoreConfiguration(directory: directory.path + "/log")
        log.create = create
        log.vfs = options.disk?.vfs
        store = try LogStore.open(log)
        pool = StoragePool(writers: 1, readers: 1)
        var configuration = StorageConfiguration(now: options.now)
        configuration.erased = RoomHost.erased
        configuration.isAmended = RoomHost.isAmended
        configuration.shownBytes = RoomHost.shownBytes
        configuration.quotedSeq = RoomHost.quotedSeq
        configuration.withoutQuote = RoomHost.withoutQuote
        configuration.visibleSince = RoomHost.visibleSince(standardDays: configuration.retentionDays)
        configuration.waitingLoadsMax = options.waitingLoadsMax
        configuration.hotTailRows = options.hotTailRows
        storage = try ShardStorage.open(
            ShardID(0), directory: directory.path + "/" + options.storage, pool: pool, configuration: configuration)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ServerID(node: Self.node.text, store: store.storeID)
        if create { try await SystemGroup.bootstrap(shardCount: 1, server: server, store: store) }
        let router = OwnRooms()
        let shardMap = ShardMap(shardCount: 1)
        calls = await RoomCalls(node: Self.node, loops: [loop], shardMap: shardMap, router: router)
        rooms = RoomHost(node: Self.node, loops: [loop], shardMap: shardMap, storages: [storage], calls: calls)
        router.connect(rooms)
        let cluster = ClusterView(shardCount: 1)
        cluster.set(level: options.level)
        told.notify(calls, of: Self.node)
        var dependencies = RoomHost.Dependencies(
            store: store, server: server, sink: told, transport: NoTransport(), policy: options.policy,
            cluster: cluster, metrics: metrics, logger: logger, checkpointSeconds: options.checkpointSeconds,
            callbacks: CallbackSetup(client: callbacks), now: options.now)
        dependencies.silencing = options.silencing
        try await rooms.start(dependencies)
    }

    static let now: @Sendable () -> Timestamp = { Timestamp(Int64(Date().timeIntervalSince1970 * 1000)) }
    static let node = known(NodeID("n1"))

    private static func known<Name>(_ name: Name?) -> Name {
        guard let name else { fatalError("a name of the tests breaks the rules for names") }
        return name
    }

    private func close() async {
        await rooms.stop()
        await calls.stop()
        storage.close()
        pool.close()
        store.close()
        await callbacks.shutdown()
        loop.shutdown()
        await loop.joined()
    }

    static func run<Value>(
        _ directory: TemporaryDirectory, create: Bool = true, _ options: Options = Options(),
        _ body: (HostedRooms) async throws -> Value
    ) async throws -> Value {
        let hosted = try await HostedRooms(directory, create: create, options)
        do {
            let value = try await body(hosted)
            await hosted.close()
            return value
        } catch {
            await hosted.close()
            throw error
        }
    }

    // MARK: - Asking

    /// Asks until a leader answers, for at most 20 s.
    func served<Value>(_ body: () async throws(ChatError) -> Value) async throws -> Value {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            do throws(ChatError) {
                return try await body()
            } catch {
                guard error.code == .unavailable, ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    /// Creates the room of which "owner" is the creator.
    func createRoom(_ room: RoomID = HostedRooms.room) async throws {
        let body = CommandBody.createRoom(creator: try user("owner"), set: RoomChanges())
        _ = try await served { () async throws(ChatError) in
            try await calls.perform(body, in: room, as: .system, id: nil)
        }
    }

    /// A call of a session that has the name of its user, or another one; it goes out with `receive`.
    func call(
        _ name: String, session: String? = nil, anonymous: Bool = false, token: Profile = Profile(),
        of room: RoomID = HostedRooms.room, from node: NodeID = HostedRooms.node, _ body: RoomRequest.Body
    ) throws -> RoomRequest {
        RoomRequest(
            room: room,
            from: SessionOrigin(
                SessionAddress(
                    node: node, lane: 0, session: try #require(SessionID(session ?? name)), encoding: .json),
                Caller(user: try user(name), anonymous: anonymous, tokenProfile: token),
                request: requests.add(1, ordering: .relaxed).newValue), body)
    }

    /// Hands calls over in one turn, and waits for their answers.
    @discardableResult
    func ask(_ calls: RoomRequest...) async throws -> [Result<OperationResult, ChatError>] {
        rooms.receive(calls)
        var answers: [Result<OperationResult, ChatError>] = []
        for case let request? in calls.map(\.number) { answers.append(await told.answer(to: request)) }
        return answers
    }

    func enter(_ name: String, session: String? = nil, token: Profile = Profile()) throws -> RoomRequest {
        try call(name, session: session, token: token, .operation(.enter(EnterRequest(room: Self.room))))
    }

    func send(_ name: String, session: String? = nil, _ text: String) throws -> RoomRequest {
        let request = SendRequest(room: Self.room, clientID: text, draft: MessageDraft(body: .text(text)))
        return try call(name, session: session, .operation(.send(request)))
    }

    /// Everything that the room has kept.
    func history() async throws -> [Message] {
        var request = HistoryRequest()
        request.ascending = true
        request.limit = 100
        return try await calls.history(of: Self.room, request).messages
    }
}

func user(_ name: String) throws -> UserID { try #require(UserID(name)) }
