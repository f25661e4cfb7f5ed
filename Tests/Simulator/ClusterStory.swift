import BotSwarmCore
import ChatModel
import Logging
import Synchronization

/// One run: a cluster, bots with a ledger, and faults, all from a seed.
public final class ClusterStory: Sendable {
    /// What happens to the cluster while bots speak.
    public enum Fault: String, CaseIterable, Sendable {
        /// `kill -9`, and a start a moment later.
        case kill
        /// The machine goes without a word, with what it had not synced.
        case powerCut
        /// The same of all machines at once: what was acked is on disks.
        case blackout
        /// SIGTERM, and a start a moment later.
        case stop
        /// SIGSTOP and SIGCONT of one node, and of two.
        case freeze, freezeTwo
        /// The link of two nodes, both ways, one way, and again and again.
        case cut, cutOneWay, flap
        /// A node that nobody reaches, clients neither.
        case isolate
        /// The disk is full, answers EIO, stands still, or is slow.
        case fullDisk, failingDisk, hangingDisk, slowDisk
        /// The connections of two nodes are reset.
        case reset
        /// All connections of clients with a node are reset.
        case storm
        /// The wall clock jumps.
        case skew
        /// The node comes back with an empty disk.
        case lostDisk
        /// Datagrams are lost.
        case loss
        /// The node comes back with a disk that has forgotten the last seconds, while all others run.
        case olderDisk
        /// The node is drained, taken out, and let in again with an empty disk: with four nodes or more.
        case drain
        /// The same without a drain: it is gone at once.
        case remove
        /// The machine goes, and stays away for longer than the grace of its sessions.
        case lostNode
        /// Leadership of shards is handed over again and again, as an operator does.
        case transfer
        /// Two nodes do not reach each other for long, while a third reaches both: everybody is served meanwhile.
        case longCut
    }

    /// All nodes run and their clients reach them meanwhile: they answer what they are asked, be it with a refusal.
    static let answeringFaults: Set<Fault> = [.isolate, .cut, .cutOneWay, .flap, .reset, .loss, .longCut]

    /// Nothing gets lost by these, so that nothing is to be repaired after them.
    static let losslessFaults: Set<Fault> = [.transfer]

    /// The ledger of a show reckons with what bots see: how long somebody was away, how long a mute lasts. So there every
    /// loss is noticed at once, and clocks agree.
    public static let showFaults = Fault.allCases.filter {
        ![.powerCut, .blackout, .lostDisk, .lostNode, .olderDisk, .remove, .isolate, .skew].contains($0)
    }

    /// What bots do.
    public enum Conversation: String, CaseIterable, Sendable {
        case chat
        /// Seats, moderation, barrage, people who come and go.
        case show
        /// As chat; besides, members of another room vote, report and have messages held, users are banned and muted, and a
        /// room is deleted and had back.
        case moderated
    }

    public struct Plan: Sendable {
        /// What happens to the cluster, and when.
        public var seed: UInt64 = 1
        public var layout = SimulatedCluster.Layout()
        public var faults: [Fault] = Fault.allCases
        public var faultCount = 3
        public var conversation = Conversation.chat
        public var bots = 30
        public var senders = 6
        public var rate = 5.0
        public var seconds = 30.0
        /// Whether days pass at the end.
        public var ages = false
        public init() {}
    }

    let plan: Plan
    let cluster: SimulatedCluster
    let trace: @Sendable (String) -> Void
    let listeners = Viewers(place: ClusterStory.listenersPlace)
    /// Whether bots have stopped: there is no further fault.
    let isOver = Mutex(false)
    /// The newest seq of each room that was acked to the server API.
    let acked = Mutex<[String: UInt64]>([:])
    /// The number of what was last said to listeners.
    let said = Mutex<UInt32>(0)
    /// The gifts that were acked, in all.
    let given = Mutex<Int64>(0)
    /// Amendments that were acked, in their order.
    let amendments = Mutex<[Amendment]>([])
    /// Nothing more is tapped or given.
    let tapsEnd = Mutex(false)
    private let complaints = Mutex<[Complaint]>([])
    private let counts = Mutex<[String: Int]>([:])

    public init(
        _ plan: Plan, directory: String, logger: Logger, trace: @escaping @Sendable (String) -> Void
    ) throws {
        self.plan = plan
        self.trace = trace
        cluster = try SimulatedCluster(plan.layout, directory: directory, logger: logger)
    }

    public var findings: [Complaint] { complaints.withLock { $0 } }
    public var happened: [String: Int] { counts.withLock { $0 } }

    static let swarmPlace: UInt8 = 200
    /// Of the members of ``ModeratedRoom``.
    static let moderatedPlace: UInt8 = 203

    func complain(_ complaint: Complaint) { complaints.withLock { $0.append(complaint) } }
    func complain(_ kind: Complaint.Kind, _ text: String) { complain(Complaint(kind, text)) }
    func count(_ what: String, _ number: Int = 1) { counts.withLock { $0[what, default: 0] += number } }

    public func run() async {
        await begin()
        for failure in cluster.failures { complain(.ended, failure) }
    }

    private func begin() async {
        do {
            try await cluster.create()
            for node in 0..<plan.layout.nodes { try cluster.start(node) }
            for node in 0..<plan.layout.nodes {
                guard try await cluster.ready(node, within: .seconds(60)) else {
                    return complain(.notReady, "n\(node + 1) was not ready in 60 s: \(cluster.failures)")
                }
            }
            guard try await cluster.replicated(within: .seconds(60)) else {
                return complain(.notReplicated, "not replicated in 60 s: \(await cluster.shardsText(0))")
            }
            trace("ready")
            try await converse()
        } catch {
            complain(Complaint(broken: "the simulation itself has failed: \(error)"))
        }
    }

    private var scenario: Scenario {
        var scenario = Scenario()
        scenario.bots = plan.bots
        scenario.senders = plan.senders
        scenario.rooms = 2
        scenario.reconnectMaxMilliseconds = 2_000
        scenario.rampPerSecond = 100
        // Bots ask every 15 s whether their node is there still; a viewer who is deaf for so long after all is over is lost.
        scenario.drainSeconds = 45
        switch plan.conversation {
        case .chat, .moderated: scenario.stages = [Scenario.chat(rate: plan.rate, seconds: plan.seconds)]
        case .show:
            scenario.name = "mixed"
            scenario.managersPerRoom = 1
            scenario.stages = Scenario.showStages(
                rate: plan.rate / 2, barrageRate: 2, scale: 0.3, seconds: plan.seconds)
        }
        return scenario
    }

    /// Those in which something else is done than bots do.
    private var otherRooms: [String] {
        [Self.tapsRoom] + (plan.conversation == .moderated ? [ModeratedRoom.id, Self.deletedRoom, HastyRoom.id] : [])
    }

    /// - Returns: it ends when all was compared with what was acked.
    private func beginModeration(_ target: SwarmTarget) async throws -> Task<Void, any Error> {
        guard plan.conversation == .moderated, await ModeratedRoom.make(self), await HastyRoom.make(self),
            await makeDeleted()
        else { return Task {} }
        let ended = Mutex<Result<Void, any Error>?>(nil)
        // The sockets of clients are where the first one is opened.
        SimulatedHost(place: Self.moderatedPlace).run("members") {
            do {
                let room = ModeratedRoom(self, target)
                let hasty = try HastyRoom(self, target, observer: room.client("observer"))
                async let first: Void = room.run()
                async let second: Void = hasty.run()
                _ = try await (first, second)
                while !self.tapsEnd.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(100)) }
                try await room.judge()
                try await hasty.judge()
                ended.withLock { $0 = .success(()) }
            } catch {
                ended.withLock { $0 = .failure(error) }
            }
        }
        return Task {
            try await self.deleteAndUndelete()
            while ended.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(100)) }
            try ended.withLock { try $0?.get() }
        }
    }

    private func makeRooms(_ scenario: Scenario, _ names: BotNames) async -> [RoomID]? {
        let rooms = (0..<scenario.rooms).compactMap { RoomID("room-\($0)") }
        for room in rooms {
            let body = #"{"id":"\#(room)","creator":"swarm-sim"}"#
            guard await asked("POST", "/v1/rooms", body) else { return nil }
        }
        for number in (scenario.bots - scenario.managers)..<scenario.bots {
            let bot = BotID(number)
            let path = "/v1/rooms/\(rooms[scenario.room(of: bot)])/members/\(names.user(of: bot))/role"
            guard await asked("PUT", path, #"{"role":"MANAGER"}"#) else { return nil }
        }
        return rooms
    }

    /// Until it is answered with success; what is refused for now is asked again.
    func asked(_ method: String, _ path: String, _ body: String, of node: Int = 0) async -> Bool {
        var answer: SimulatedCall.Answer?
        for _ in 0..<20 {
            answer = await cluster.call(node, method, path, body)
            if let answer, 200..<300 ~= answer.status { return true }
            try? await Task.sleep(for: .milliseconds(500))
        }
        complain(
            .refused,
            "\(method) \(path) was answered "
                + "\(answer.map { "\($0.status) \(String(decoding: $0.body, as: UTF8.self))" } ?? "not at all")")
        return false
    }

    private func converse() async throws {
        let scenario = scenario
        guard let names = BotNames(run: "sim") else { preconditionFailure("a run has a name") }
        guard let rooms = await makeRooms(scenario, names), await makeListeners(), await makeTallies() else { return }
        var gateways: [WebSocketAddress] = []
        for node in 0..<plan.layout.nodes {
            gateways.append(try WebSocketAddress("\(cluster.address(of: node)):\(SimulatedCluster.clientPort)"))
        }
        let target = SwarmTarget(
            gateways: gateways, api: nil,
            signer: TokenSigner(TokenKey(kid: SimulatedCluster.tokenKid, secret: SimulatedCluster.tokenSecret)))
        let outcome = Mutex<Result<RunReport, any Error>?>(nil)
        let swarm = Swarm(scenario: scenario, target: target, names: names) { _ in }
        SimulatedHost(place: Self.swarmPlace).run("swarm") {
            do {
                let report = try await swarm.run(rooms: rooms, areNew: true)
                outcome.withLock { $0 = .success(report) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        let tappers = Tappers(at: Self.tapsPlace, gateways, target, self)
        let gifts = Task { try await self.give() }
        let moderation = try await beginModeration(target)
        let faults = Task { try await self.disturb() }
        while outcome.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(50)) }
        isOver.withLock { $0 = true }
        // The last fault comes to its end.
        try await faults.value
        tapsEnd.withLock { $0 = true }
        try await gifts.value
        try await judgeTallies(tappers)
        try await moderation.value
        let report = try outcome.withLock { try $0?.get() }
        guard let report else { return }
        if isLossless {
            lookForDelays(report)
            await lookForRepairs()
        }
        try await everybodyIsCounted(at: Array(0..<plan.layout.nodes), "in the end")
        try await compareReplicas(of: rooms + (Self.listenersRooms + otherRooms).compactMap { RoomID($0) })
        if plan.ages { try await age(rooms) }
        count("acked", Int(report.acked))
        count("delivered", Int(report.delivered))
        judge(report.findings)
        trace(report.text)
    }
}
