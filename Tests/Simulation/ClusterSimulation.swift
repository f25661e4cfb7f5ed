import ChatModel
import ClientCore
import Consensus
import Gossip
import RoomCore
import Sharding
import Wire

/// A cluster of the real cores, with simple hosts around them that carry out what the cores decide: consensus, rooms and
/// their streams, presence, placement, reconciler, gossip, the gateways' open calls, rates, heartbeats and send queues,
/// and the clients' core. All on one clock, network and set of disks that fail in every way a seed can think of.
///
/// It begins with one node that creates the groups; the others join, and the groups' leaders place them. Then faults
/// come for `chaos`, then peace, in which everything must come to rest.
package final class ClusterSimulation {
    /// A fault that must not be, to see the checkers find it.
    package enum Sabotage: String, Hashable, CaseIterable, Sendable {
        /// A leader answers when it has proposed.
        case acksBeforeSync
        /// Crashes take what was synced.
        case losesSyncedEntries
        /// Commands have no keys.
        case noDeduplication
        /// A viewer that resumes is served from one message too late.
        case resumesOffByOne
        /// Now and then two entries are applied in the wrong order.
        case appliesOutOfOrder
        /// Everybody votes for everybody.
        case votesTwice
        /// One replica forgets a mute.
        case forgetsMutes
        /// The leader proposes in the server's name what a user says.
        case letsMutedSpeak
        /// A row of history is never written.
        case losesRows
        /// Whoever cannot keep up is sent everything all the same.
        case neverSheds
        /// Whoever could not take something is not told.
        case losesSilently
        /// A gateway shows what a leader says before it knows what was shown, and what a former one says.
        case showsUnasked
        /// A gateway does not wait for frames whose bytes come by other nodes.
        case skipsBodies
        /// A gateway tells a leader of one message less than it has been shown.
        case followsOffByOne
        /// A leader answers questions without asking a majority whether it still leads.
        case answersUnconfirmed
        /// Leaders let those stay who were blacklisted.
        case keepsBlacklisted
        /// Leaders stamp what their own clock says.
        case stampsBackwards
        /// The network between some nodes never heals for gossip.
        case cutsGossip
        /// The network never heals.
        case cutsForEver
        /// Who comes back with an older copy of its disk votes at once, and what it had acked still counts.
        case believesOldDisks
    }

    enum Packet {
        case raft(RaftMessage)
        case snapshotAsk(RaftOutput.SnapshotOffer, GroupID)
        case snapshot(SnapshotMark, GroupState, GroupID)
        case gossip([GossipMessage])
        case pushPull([GossipRecord], isQuestion: Bool)
    }

    enum Event {
        /// `run`: the sender's life.
        case packet(Packet, from: Int, run: Int, to: Int)
        case tick(Int, run: Int)
        case synced(Int, run: Int, GroupID, count: Int)
        case gossipTick(Int, run: Int)
        case connectionEnded(Int, run: Int, with: Int)
        case backfilled(Int, run: Int, GroupID)
        case snapshotLate(Int, run: Int, GroupID, SnapshotMark)
        /// Within a node.
        case local(SimulatedLink.Message, at: Int, run: Int)
        /// The next parcel of that connection is due.
        case arrival(from: Int, to: Int, number: Int)
        case linkCheck
        case bodyLook(Int, run: Int)
        case accepted(SimulatedSocket)
        /// nil: a pong.
        case request(SimulatedSocket, ClientRequest?)
        case closedByClient(SimulatedSocket)
        case drained(SimulatedSocket)
        case opened(SimulatedSocket)
        case items(SimulatedSocket, [ServerItem])
        case closedByServer(SimulatedSocket, UInt16?)
        case clientDue(Int, at: Int64)
        case clientInput(Int, ClientInput)
        case clientFault
        case restart(Int)
        /// The node comes back with the copy of its disk.
        case oldDisk(Int, leader: Int)
        case resume(Int)
        case client(Int)
        case operate
        case fault
        case heal
    }

    package let seed: UInt64
    let sabotage: Sabotage?
    package internal(set) var checkers = ClusterCheckers()
    /// What has happened, to see that something did.
    package internal(set) var counts: [String: Int] = [:]
    var random: SimulationRandom
    package internal(set) var now = Duration.zero
    var nodes: [SimulatedNode] = []
    var links: [SimulatedLink] = []
    var clients: [SimulatedClient] = []
    var nextSocket = 0
    /// Of clients that come at once.
    let crowdCount: Int
    var proposals: [Proposal] = []
    /// What an operator wants, oldest first; each is asked for until it is done.
    var operations: [Int] = []
    /// Directions in which nothing passes, as from and to.
    var blocked: Set<[Int]> = []
    var lossPercent = 2
    var isPeace = false
    /// A node that came back with an older copy of its disk, and of each of its groups how far its log had been.
    var renewing: (number: Int, promised: [GroupID: UInt64])?
    /// In a script: messages that are lost.
    var loses: ((RaftMessage) -> Bool)?
    /// Nothing goes wrong by chance, and nobody is there but the nodes.
    private let isScripted: Bool
    private var events = EventQueue<Event>()
    private var eventCount = 0

    static let groups = [GroupID(0), GroupID(1), GroupID.system]
    static let shardCount: UInt16 = 2
    static let tickMilliseconds = 200
    static let chaos = Duration.seconds(8)
    static let peaceMax = Duration.seconds(60)
    static let messagesPerClient = 14
    /// A run has some ten thousand.
    private var eventsMax: Int { 150_000 + 6_000 * crowdCount }

    /// - Parameter crowd: how many clients come at once; nil: a crowd in some of the seeds.
    package init(seed: UInt64, sabotage: Sabotage? = nil, crowd: Int? = nil) {
        self.seed = seed
        self.sabotage = sabotage
        isScripted = false
        crowdCount = crowd ?? (seed % 25 == 0 ? 120 : 0)
        random = SimulationRandom(seed: seed)
        let count = 3 + random.below(2) + random.below(2)
        for number in 0..<count { nodes.append(SimulatedNode(number: number)) }
        makeLinks()
        makeClients()
    }

    /// For a script: nodes without clients, on a network that loses nothing unless it is told to.
    package init(nodes count: Int, seed: UInt64) {
        self.seed = seed
        sabotage = nil
        isScripted = true
        crowdCount = 0
        random = SimulationRandom(seed: seed)
        lossPercent = 0
        for number in 0..<count { nodes.append(SimulatedNode(number: number)) }
        makeLinks()
        startNodes()
    }

    // MARK: - The run

    private func startNodes() {
        for node in nodes { start(node) }
        for group in Self.groups where group != .system { createRoom(group) }
        for node in nodes { want(.listNode(PlacementNode(server: node.server))) }
        add(.operate, in: .milliseconds(100))
        add(.linkCheck, in: .milliseconds(50))
    }

    package func run() {
        startNodes()
        for number in clients.indices {
            add(.client(number), in: clients[number].kind == .crowd ? .seconds(3) : random.milliseconds(500...1_500))
        }
        add(.clientFault, in: .milliseconds(2_500))
        add(.fault, in: .milliseconds(3_000))
        add(.heal, in: Self.chaos)
        while let event = step(until: Self.chaos + Self.peaceMax) {
            if !checkers.violations.isEmpty { return }
            // Not after every event, since it takes longer than most of them.
            if isPeace, case .operate = event, isFinished { return checkEnd() }
        }
        if !isGossipConverged {
            checkers.fail(.gossipConverges, "the members are not known everywhere after \(Self.peaceMax)")
        }
        checkers.fail(.liveness, "no rest after \(Self.peaceMax) of peace\n" + describe())
        checkers.ends([])
    }

    /// Runs until that holds, looking after every event.
    /// - Returns: false when it does not within `limit`, or a checker has found something.
    package func run(atMost limit: Duration, until isDone: () -> Bool) -> Bool {
        let end = now + limit
        while !isDone() {
            guard checkers.violations.isEmpty, step(until: end) != nil else { return false }
        }
        return true
    }

    /// The next event, if it is due by then.
    private func step(until end: Duration) -> Event? {
        guard let (at, event) = events.popNext(until: end) else { return nil }
        now = at
        eventCount += 1
        checkers.holds(eventCount, atMost: eventsMax, "events: the nodes never come to rest")
        handle(event)
        if let number = target(of: event), nodes[number].stoppedAt == nil { endTurn(nodes[number]) }
        return event
    }

    /// What must hold when everything is at rest.
    func checkEnd() {
        checkers.ends(
            nodes.filter(\.isUp).flatMap { node in
                node.replicas.values.map { ($0.group, $0.id, $0.state.history) }
            })
    }

    func add(_ event: Event, in delay: Duration) { events.add(event, at: now + delay) }

    func count(_ what: String) { counts[what, default: 0] += 1 }

    /// The node if that life of it still lives.
    private func living(_ number: Int, _ run: Int) -> SimulatedNode? {
        nodes[number].run == run && nodes[number].isUp ? nodes[number] : nil
    }

    private func handle(_ event: Event) {
        if let number = target(of: event), nodes[number].stoppedAt != nil, nodes[number].isUp {
            nodes[number].inbox.append(event)
            return
        }
        switch event {
        case .packet(let packet, let from, let run, let to):
            if nodes[to].isUp, hears(from, run, at: nodes[to]) { receive(packet, from: from, at: nodes[to]) }
        case .tick(let number, let run):
            guard let node = living(number, run) else { return }
            add(.tick(number, run: run), in: .milliseconds(Self.tickMilliseconds))
            tick(node)
        case .synced(let number, let run, let group, let count):
            if let node = living(number, run) { synced(node, group, count) }
        case .gossipTick(let number, let run):
            if let node = living(number, run) { gossipTick(node) }
        case .connectionEnded(let number, let run, let other):
            guard let node = living(number, run) else { return }
            for group in Self.groups {
                act(node, group) { $0.leaderMayBeGone(nodes[other].name) }
            }
            linkEnded(at: node, with: other)
        case .backfilled(let number, let run, let group):
            guard let node = living(number, run) else { return }
            node.replicas[group]?.isComplete = true
            act(node, group) { $0.mayLead = true }
        case .snapshotLate(let number, let run, let group, let mark):
            if let node = living(number, run) { act(node, group) { $0.snapshotInstallFailed(mark) } }
        case .restart(let number): if !nodes[number].isUp, !nodes[number].isRemoved { start(nodes[number]) }
        case .resume(let number): resume(nodes[number])
        case .oldDisk(let number, let leader): oldDisk(nodes[number], leader: nodes[leader])
        case .local(let message, let number, let run):
            if let node = living(number, run) { hear(message, from: number, at: node) }
        case .arrival(let from, let to, let number): arrival(from: from, to: to, number: number)
        case .linkCheck: checkLinks()
        case .bodyLook(let number, let run):
            if let node = living(number, run) { lookForBodies(node) }
        case .accepted(let socket): accept(socket)
        case .request(let socket, let request): arrivedAtServer(request, socket)
        case .closedByClient(let socket): closedAtServer(socket)
        case .drained(let socket):
            if let node = living(socket.node, socket.run), socket.isOpenAtServer { flush(socket, node) }
        case .opened(let socket):
            guard !socket.isCut, clients[socket.client].socket === socket else { return }
            socket.isOpenAtClient = true
            tell(socket.client, .opened(connection: socket.clientNumber))
        case .items(let socket, let items): arrivedAtClient(items, socket)
        case .closedByServer(let socket, let code): closedAtClient(socket, code)
        case .clientDue(let number, let due): clientDue(number, at: due)
        case .clientInput(let number, let input): tell(number, input)
        case .clientFault: clientFault()
        case .client(let number): turn(ofClient: number)
        case .operate: operate()
        case .fault: if !isPeace { fault() }
        case .heal: heal()
        }
    }

    private func target(of event: Event) -> Int? {
        switch event {
        case .packet(_, _, _, let to): to
        case .tick(let number, _), .synced(let number, _, _, _), .gossipTick(let number, _),
            .connectionEnded(let number, _, _), .backfilled(let number, _, _), .snapshotLate(let number, _, _, _):
            number
        case .bodyLook(let number, _): number
        case .local(_, let number, _), .arrival(_, let number, _): number
        case .accepted(let socket), .request(let socket, _), .closedByClient(let socket), .drained(let socket):
            socket.node
        case .linkCheck, .opened, .items, .closedByServer, .clientDue, .clientInput, .clientFault: nil
        case .restart, .resume, .oldDisk, .client, .operate, .fault, .heal: nil
        }
    }

    /// The process goes on that was stopped.
    private func resume(_ node: SimulatedNode) {
        guard let since = node.stoppedAt else { return }
        node.stoppedAt = nil
        let inbox = node.inbox
        node.inbox = []
        guard node.isUp else { return }
        let ticks = Int((now - since) / .milliseconds(Self.tickMilliseconds))
        for group in Self.groups { act(node, group) { $0.clockJumped(ticks: ticks) } }
        gossip(node) { core, _ in core.clockJumped(by: now - since) }
        for event in inbox { handle(event) }
        endTurn(node)
    }

    // MARK: - The network

    func send(_ packet: Packet, from: Int, to: Int) {
        let event = Event.packet(packet, from: from, run: nodes[from].run, to: to)
        if from == to { return add(event, in: .milliseconds(1)) }
        guard !blocked.contains([from, to]), !random.chance(lossPercent) else { return }
        add(event, in: random.milliseconds(1...12))
        if !isScripted, random.chance(2) { add(event, in: random.milliseconds(1...300)) }
    }

    /// Whether a packet is of the sender's present life as far as is known here: a link's hello names the life, and with
    /// it everything of the one before ends. That a node has begun anew the leaders must know, for its disk may be older.
    private func hears(_ sender: Int, _ run: Int, at node: SimulatedNode) -> Bool {
        let known = node.heardRuns[sender] ?? 0
        guard run > known else { return run == known }
        node.heardRuns[sender] = run
        guard sabotage != .believesOldDisks else { return true }
        for group in Self.groups { act(node, group) { $0.peerRestarted(nodes[sender].name) } }
        return true
    }

    func number(of server: ServerID) -> Int? { nodes.firstIndex { $0.name == server.node } }

    private func receive(_ packet: Packet, from: Int, at node: SimulatedNode) {
        switch packet {
        case .raft(let message):
            if loses?(message) != true { act(node, message.group) { $0.step(message) } }
        case .snapshotAsk(let offer, let group):
            guard let replica = node.replicas[group], let mark = replica.durableMark, mark.index >= offer.mark.index
            else { return }
            send(.snapshot(mark, replica.durable, group), from: node.number, to: from)
        case .snapshot(let mark, let state, let group): install(mark, state, group, node)
        case .gossip(let messages): gossip(node) { $0.receive(messages, from: SimulatedGossip.address(from), now: $1) }
        case .pushPull(let records, let isQuestion):
            gossip(node) { $0.merge(records, now: $1) }
            if isQuestion, let own = node.gossip?.core.records {
                send(.pushPull(own, isQuestion: false), from: node.number, to: from)
            }
        }
    }
}
