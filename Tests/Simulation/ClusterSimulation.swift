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
        /// As it once was: what is said in the turn in which a connection has ended and another one begun is taken for
        /// said before the end, and dropped without a word; and nobody waits for an answer with a deadline.
        case announcesAtFormerEnd
        /// What begins a stream anew is lost, and nobody watches.
        case losesFollowing
        /// That a session has left is lost, and nobody watches.
        case losesLeaves
        /// A leader forgets who of a lane is in its room, and nobody watches.
        case losesPresence
        /// The answer to an enter is lost.
        case losesEntered
    }

    /// What a run is made of.
    package enum Plan: Sendable {
        /// Everything that can fail does, at random.
        case chaos
        /// A test says what happens. Nobody is there but the nodes, on a network that loses nothing unless it is told to.
        case script
        /// Nodes stand still and links are cut, one after the other, and each time all is well again five seconds later.
        case freezes
    }

    /// What a turn belongs to.
    struct Place: Hashable {
        let node: Int
        let loop: Int
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
        case tick(Int, run: Int, loop: Int)
        case job(Int, run: Int, loop: Int, (SimulatedNode) -> Void)
        case synced(Int, run: Int, GroupID, count: Int)
        case gossipTick(Int, run: Int)
        case backfilled(Int, run: Int, GroupID)
        case snapshotLate(Int, run: Int, GroupID, SnapshotMark)
        // Between nodes: what their systems do, and what the processes are told of it.
        case syn(SimulatedWire)
        case segment(SimulatedWire, to: Int)
        case connected(SimulatedWire)
        case callFailed(SimulatedWire)
        case callTimedOut(SimulatedWire)
        case acceptable(SimulatedWire)
        case readable(SimulatedWire, at: Int)
        case writable(SimulatedWire, at: Int)
        case linkTick(Int, run: Int, due: UInt64)
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
        case freeze(FreezeStep)
    }

    package let seed: UInt64
    let sabotage: Sabotage?
    package internal(set) var checkers = ClusterCheckers()
    /// What has happened, to see that something did.
    package internal(set) var counts: [String: Int] = [:]
    /// From then on it is printed what nodes make of each other.
    package var traceFrom: Duration?
    var random: SimulationRandom
    package internal(set) var now = Duration.zero
    var nodes: [SimulatedNode] = []
    var wires: [SimulatedWire] = []
    /// Whose turn it is.
    var running: Place?
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
    let plan: Plan
    /// What a run of freezes is at.
    var freezes = Freezes()
    /// Whether lanes and leaders compare what they have, and wait with deadlines.
    var isWatched = true
    /// Things are lost that can't be, to see the watch find it.
    var losesFollowing = false
    var losesLeaves = false
    var losesPresence = false
    /// A leader that has forgotten a lane tells what it did not show only when the lane finds out.
    var toleratesHoles: Bool { losesPresence }
    let graceMilliseconds: UInt64 = 2_000
    /// Else they may also be doubled, and come late.
    var consensusTravelsOverLinks: Bool { plan == .freezes }
    private var events = EventQueue<Event>()
    private var eventCount = 0

    static let groups = [GroupID(0), GroupID(1), GroupID.system]
    static let shardCount: UInt16 = 2
    static let tickMilliseconds = 200
    static let ticksPerSecond = 5
    static let chaos = Duration.seconds(8)
    static let peaceMax = Duration.seconds(60)
    static let messagesPerClient = 14
    /// A run has some ten thousand.
    private var eventsMax: Int { plan == .freezes ? 3_000_000 : 400_000 + 6_000 * crowdCount }

    /// - Parameter crowd: how many clients come at once; nil: a crowd in some of the seeds.
    package init(seed: UInt64, sabotage: Sabotage? = nil, crowd: Int? = nil) {
        self.seed = seed
        self.sabotage = sabotage
        plan = .chaos
        crowdCount = crowd ?? (seed % 25 == 0 ? 120 : 0)
        random = SimulationRandom(seed: seed)
        makeNodes(3 + random.below(2) + random.below(2), loops: 1 + Int(seed % 2))
        makeClients()
    }

    /// For a script: nodes without clients.
    package init(nodes count: Int, seed: UInt64) {
        self.seed = seed
        sabotage = nil
        plan = .script
        crowdCount = 0
        random = SimulationRandom(seed: seed)
        lossPercent = 0
        makeNodes(count, loops: 1)
        startNodes()
    }

    /// Freezes and cuts, one after the other.
    /// - Parameter losing: what can't be lost is lost now and then all the same, and the watch is to mend it.
    package init(freezes seed: UInt64, sabotage: Sabotage? = nil, losing: Bool = false) {
        self.seed = seed
        self.sabotage = sabotage
        plan = .freezes
        crowdCount = 0
        random = SimulationRandom(seed: seed)
        lossPercent = random.below(3)
        isWatched = ![.announcesAtFormerEnd, .losesFollowing, .losesLeaves, .losesPresence].contains(sabotage)
        losesFollowing = losing || sabotage == .losesFollowing
        losesLeaves = losing || sabotage == .losesLeaves
        losesPresence = losing || sabotage == .losesPresence
        makeNodes(seed % 3 == 0 ? 5 : 3, loops: 1 + Int(seed % 2))
        makeViewers()
    }

    private func makeNodes(_ count: Int, loops: Int) {
        for number in 0..<count { nodes.append(SimulatedNode(number: number, loops: loops)) }
    }

    // MARK: - The run

    func startNodes() {
        for node in nodes { start(node) }
        for group in Self.groups where group != .system { createRoom(group) }
        for node in nodes { want(.listNode(PlacementNode(server: node.server))) }
        add(.operate, in: .milliseconds(100))
    }

    package func run() {
        if plan == .freezes { return runFreezes() }
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
    func step(until end: Duration) -> Event? {
        guard let (at, event) = events.popNext(until: end) else { return nil }
        now = at
        eventCount += 1
        checkers.holds(eventCount, atMost: eventsMax, "events: the nodes never come to rest")
        let place = place(of: event)
        running = place
        handle(event)
        running = nil
        if let place { endTurn(nodes[place.node], place.loop) }
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

    /// For whoever looks for the reason of a failure.
    func trace(_ what: @autoclosure () -> String) {
        if let traceFrom, now >= traceFrom { print("\(now): \(what())") }
    }

    func count(_ what: String) { counts[what, default: 0] += 1 }

    /// The node if that life of it still lives.
    private func living(_ number: Int, _ run: Int) -> SimulatedNode? {
        nodes[number].run == run && nodes[number].isUp ? nodes[number] : nil
    }

    private func handle(_ event: Event) {
        if let place = place(of: event), nodes[place.node].stoppedAt != nil, nodes[place.node].isUp {
            nodes[place.node].inbox.append(event)
            return
        }
        switch event {
        case .packet(let packet, let from, let run, let to):
            if nodes[to].isUp, hears(from, run, at: nodes[to]) { receive(packet, from: from, at: nodes[to]) }
        case .tick(let number, let run, let loop):
            guard let node = living(number, run) else { return }
            add(.tick(number, run: run, loop: loop), in: .milliseconds(Self.tickMilliseconds))
            tick(node, loop)
        case .job(let number, let run, _, let body):
            if let node = living(number, run) { body(node) }
        case .synced(let number, let run, let group, let count):
            if let node = living(number, run) { synced(node, group, count) }
        case .gossipTick(let number, let run):
            if let node = living(number, run) { gossipTick(node) }
        case .backfilled(let number, let run, let group):
            guard let node = living(number, run) else { return }
            node.replicas[group]?.isComplete = true
            act(node, group) { $0.mayLead = true }
        case .snapshotLate(let number, let run, let group, let mark):
            if let node = living(number, run) { act(node, group) { $0.snapshotInstallFailed(mark) } }
        case .restart(let number): if !nodes[number].isUp, !nodes[number].isRemoved { start(nodes[number]) }
        case .resume(let number): resume(nodes[number])
        case .oldDisk(let number, let leader): oldDisk(nodes[number], leader: nodes[leader])
        case .syn(let wire): syn(wire)
        case .segment(let wire, let place): segment(wire, to: place)
        case .connected(let wire): if lives(wire, at: 0) { called(wire, isConnected: true) }
        case .callFailed(let wire), .callTimedOut(let wire):
            if lives(wire, at: 0) { called(wire, isConnected: false) }
        case .acceptable(let wire): if lives(wire, at: 1) { accept(wire) }
        case .readable(let wire, let place): if lives(wire, at: place) { readable(wire, at: place) }
        case .writable(let wire, let place): if lives(wire, at: place) { writable(wire, at: place) }
        case .linkTick(let number, let run, let due):
            if let node = living(number, run) { linkTick(node, due: due) }
        case .bodyLook(let number, let run):
            if let node = living(number, run) { lookForBodies(node) }
        case .accepted(let socket): accept(socket)
        case .request(let socket, let request): arrivedAtServer(request, socket)
        case .closedByClient(let socket): closedAtServer(socket)
        case .drained(let socket):
            if living(socket.node, socket.run) != nil, socket.isOpenAtServer { flush(socket) }
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
        case .freeze(let step): perform(step)
        }
    }

    private func lives(_ wire: SimulatedWire, at place: Int) -> Bool {
        living(wire.sides[place].node, wire.sides[place].run) != nil
    }

    /// Which loop of which node it concerns; nil: none.
    private func place(of event: Event) -> Place? {
        switch event {
        case .packet(.raft(let message), _, _, let to): Place(node: to, loop: loop(of: message.group, nodes[to]))
        case .packet(.snapshotAsk(_, let group), _, _, let to), .packet(.snapshot(_, _, let group), _, _, let to):
            Place(node: to, loop: loop(of: group, nodes[to]))
        case .packet(.gossip, _, _, let to), .packet(.pushPull, _, _, let to): Place(node: to, loop: 0)
        case .tick(let number, _, let loop), .job(let number, _, let loop, _): Place(node: number, loop: loop)
        case .synced(let number, _, let group, _), .backfilled(let number, _, let group),
            .snapshotLate(let number, _, let group, _):
            Place(node: number, loop: loop(of: group, nodes[number]))
        case .gossipTick(let number, _), .bodyLook(let number, _), .linkTick(let number, _, _):
            Place(node: number, loop: 0)
        case .connected(let wire), .callFailed(let wire), .callTimedOut(let wire):
            Place(node: wire.sides[0].node, loop: 0)
        case .acceptable(let wire): Place(node: wire.sides[1].node, loop: 0)
        case .readable(let wire, let place), .writable(let wire, let place):
            Place(node: wire.sides[place].node, loop: 0)
        case .accepted(let socket), .request(let socket, _), .closedByClient(let socket), .drained(let socket):
            Place(node: socket.node, loop: socket.lane)
        case .syn, .segment, .opened, .items, .closedByServer, .clientDue, .clientInput, .clientFault: nil
        case .restart, .resume, .oldDisk, .client, .operate, .fault, .heal, .freeze: nil
        }
    }

    /// The process goes on that was stopped. What has come meanwhile comes in one turn of each loop, timers before the rest
    /// or behind it, as the process stood in its wait or not.
    func resume(_ node: SimulatedNode) {
        guard let since = node.stoppedAt else { return }
        node.stoppedAt = nil
        trace("n\(node.number) goes on")
        var inbox = node.inbox
        node.inbox = []
        guard node.isUp else { return }
        let ticks = Int((now - since) / .milliseconds(Self.tickMilliseconds))
        let isTimer: (Event) -> Bool = {
            switch $0 {
            case .tick, .gossipTick, .linkTick, .bodyLook: true
            default: false
            }
        }
        if random.chance(30) { inbox = inbox.filter(isTimer) + inbox.filter { !isTimer($0) } }
        for loop in node.loops.indices {
            running = Place(node: node.number, loop: loop)
            for group in groups(of: loop, node) { act(node, group) { $0.clockJumped(ticks: ticks) } }
            if loop == 0 { gossip(node) { core, _ in core.clockJumped(by: now - since) } }
            for event in inbox where place(of: event)?.loop == loop { handle(event) }
            running = nil
            endTurn(node, loop)
        }
    }

    // MARK: - The network

    func send(_ packet: Packet, from: Int, to: Int) {
        let event = Event.packet(packet, from: from, run: nodes[from].run, to: to)
        if from == to { return add(event, in: .milliseconds(1)) }
        guard !blocked.contains([from, to]), !random.chance(lossPercent) else { return }
        add(event, in: random.milliseconds(1...12))
        if plan == .chaos, random.chance(2) { add(event, in: random.milliseconds(1...300)) }
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
