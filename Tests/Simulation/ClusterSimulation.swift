import ChatModel
import Consensus
import Gossip
import RoomCore
import Sharding

/// A cluster of the real cores (consensus, room, placement, reconciler, gossip) with simple hosts, gateways and clients
/// around them, on one clock, network and set of disks that fail in every way a seed can think of.
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
        /// Gateways hold clients' commands without end.
        case holdsForEver
        /// Leaders stamp what their own clock says.
        case stampsBackwards
        /// The network between some nodes never heals for gossip.
        case cutsGossip
        /// The network never heals.
        case cutsForEver
    }

    enum Packet {
        case raft(RaftMessage)
        case snapshotAsk(RaftOutput.SnapshotOffer, GroupID)
        case snapshot(SnapshotMark, GroupState, GroupID)
        case call(Call)
        /// nil: ask again, elsewhere.
        case reply(Call, CommandResult?, leader: Int?)
        case publish(GroupID, Message)
        case ask(client: Int, GroupID, after: UInt64?)
        case history(client: Int, [Message], upTo: UInt64)
        case gossip([GossipMessage])
        case pushPull([GossipRecord], isQuestion: Bool)
    }

    enum Event {
        case packet(Packet, from: Int, to: Int)
        case tick(Int, run: Int)
        case synced(Int, run: Int, GroupID, count: Int)
        case gossipTick(Int, run: Int)
        case connectionEnded(Int, run: Int, with: Int)
        case backfilled(Int, run: Int, GroupID)
        case snapshotLate(Int, run: Int, GroupID, SnapshotMark)
        case restart(Int)
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
    var clients: [Client] = []
    var proposals: [Proposal] = []
    /// What an operator wants, oldest first; each is asked for until it is done.
    var operations: [Int] = []
    /// Directions in which nothing passes, as from and to.
    var blocked: Set<[Int]> = []
    var lossPercent = 2
    var isPeace = false
    private var events = EventQueue<Event>()
    private var eventCount = 0

    static let groups = [GroupID(0), GroupID(1), GroupID.system]
    static let shardCount: UInt16 = 2
    static let tickMilliseconds = 200
    static let chaos = Duration.seconds(8)
    static let peaceMax = Duration.seconds(60)
    static let messagesPerClient = 10
    /// A run has some ten thousand.
    static let eventsMax = 80_000
    static let heldCallsMax = 3

    package init(seed: UInt64, sabotage: Sabotage? = nil) {
        self.seed = seed
        self.sabotage = sabotage
        random = SimulationRandom(seed: seed)
        let count = 3 + random.below(2) + random.below(2)
        for number in 0..<count { nodes.append(SimulatedNode(number: number)) }
        for number in 0..<4 {
            guard let user = UserID("u\(number)") else { continue }
            clients.append(
                Client(user: user, group: GroupID(UInt16(number % 2)), gateway: random.below(count)))
        }
    }

    // MARK: - The run

    package func run() {
        for node in nodes { start(node) }
        for group in Self.groups where group != .system { createRoom(group) }
        for node in nodes { want(.listNode(PlacementNode(server: node.server))) }
        for number in clients.indices { add(.client(number), in: random.milliseconds(500...1_500)) }
        add(.operate, in: .milliseconds(100))
        add(.fault, in: .milliseconds(3_000))
        add(.heal, in: Self.chaos)
        while let (at, event) = events.popNext(until: Self.chaos + Self.peaceMax) {
            now = at
            eventCount += 1
            checkers.holds(eventCount, atMost: Self.eventsMax, "events: the nodes never come to rest")
            handle(event)
            if !checkers.violations.isEmpty { return }
            // Not after every event, since it takes longer than most of them.
            if isPeace, case .operate = event, isFinished {
                let histories = nodes.filter(\.isUp).flatMap { node in
                    node.replicas.values.map { ($0.group, $0.id, $0.state.history) }
                }
                checkers.ends(histories)
                return
            }
        }
        if !isGossipConverged {
            checkers.fail(.gossipConverges, "the members are not known everywhere after \(Self.peaceMax)")
        }
        checkers.fail(.liveness, "no rest after \(Self.peaceMax) of peace\n" + describe())
        checkers.ends([])
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
        case .packet(let packet, let from, let to):
            if nodes[to].isUp { receive(packet, from: from, at: nodes[to]) }
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
        case .backfilled(let number, let run, let group):
            guard let node = living(number, run) else { return }
            node.replicas[group]?.isComplete = true
            act(node, group) { $0.mayLead = true }
        case .snapshotLate(let number, let run, let group, let mark):
            if let node = living(number, run) { act(node, group) { $0.snapshotInstallFailed(mark) } }
        case .restart(let number): if !nodes[number].isUp, !nodes[number].isRemoved { start(nodes[number]) }
        case .resume(let number): resume(nodes[number])
        case .client(let number): turn(ofClient: number)
        case .operate: operate()
        case .fault: if !isPeace { fault() }
        case .heal: heal()
        }
    }

    private func target(of event: Event) -> Int? {
        switch event {
        case .packet(_, _, let to): to
        case .tick(let number, _), .synced(let number, _, _, _), .gossipTick(let number, _),
            .connectionEnded(let number, _, _), .backfilled(let number, _, _), .snapshotLate(let number, _, _, _):
            number
        case .restart, .resume, .client, .operate, .fault, .heal: nil
        }
    }

    private func resume(_ node: SimulatedNode) {
        guard let since = node.stoppedAt else { return }
        node.stoppedAt = nil
        let inbox = node.inbox
        node.inbox = []
        guard node.isUp else { return }
        let ticks = Int((now - since) / .milliseconds(Self.tickMilliseconds))
        for group in Self.groups { act(node, group) { $0.clockJumped(ticks: ticks) } }
        for event in inbox { handle(event) }
    }

    // MARK: - The network

    func send(_ packet: Packet, from: Int, to: Int) {
        if from == to {
            add(.packet(packet, from: from, to: to), in: .milliseconds(1))
            return
        }
        guard !blocked.contains([from, to]), !random.chance(lossPercent) else { return }
        add(.packet(packet, from: from, to: to), in: random.milliseconds(1...12))
        if random.chance(2) { add(.packet(packet, from: from, to: to), in: random.milliseconds(1...300)) }
    }

    func number(of server: ServerID) -> Int? { nodes.firstIndex { $0.name == server.node } }

    private func receive(_ packet: Packet, from: Int, at node: SimulatedNode) {
        switch packet {
        case .raft(let message): act(node, message.group) { $0.step(message) }
        case .snapshotAsk(let offer, let group):
            guard let replica = node.replicas[group], let mark = replica.durableMark, mark.index >= offer.mark.index
            else { return }
            send(.snapshot(mark, replica.durable, group), from: node.number, to: from)
        case .snapshot(let mark, let state, let group): install(mark, state, group, node)
        case .call(let call): take(call, from: from, at: node)
        case .reply(let call, let result, let leader): answered(call, result, leader: leader, at: node)
        case .publish(let group, let message): published(message, group, at: node)
        case .ask(let client, let group, let after): tellHistory(client, group, after, from: from, at: node)
        case .history(let client, let messages, let upTo): show(messages, upTo: upTo, toClient: client, at: node)
        case .gossip(let messages): gossip(node) { $0.receive(messages, from: SimulatedGossip.address(from), now: $1) }
        case .pushPull(let records, let isQuestion):
            gossip(node) { $0.merge(records, now: $1) }
            if isQuestion, let own = node.gossip?.core.records {
                send(.pushPull(own, isQuestion: false), from: node.number, to: from)
            }
        }
    }
}
