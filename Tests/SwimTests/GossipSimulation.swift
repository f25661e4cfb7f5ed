import ChatModel
import Foundation
import SwimTestKit

@testable import Swim

/// Many nodes on one clock and one network, decided by a seed. What must always hold is checked as it runs; what broke
/// is in `violations`.
struct GossipSimulation {
    /// How the network behaves for everybody.
    struct Weather {
        var loss = 0.0
        var duplication = 0.0
        /// Different delays reorder packets.
        var delayMilliseconds = 1...5
    }

    /// Faults of the program, to prove that the checkers see them.
    enum Sabotage {
        case none
        /// Nobody contradicts a suspicion.
        case noRefutation
        /// News is sent without end.
        case endlessNews
        /// Nodes raise the incarnations of others.
        case raisesOthers
        /// Nobody looks for the dead again.
        case noReconnect
        /// Nodes say that they leave to nobody.
        case silentLeave
    }

    struct Node {
        var membership: GossipMembership
        var run: Int
        let address: GossipAddress
        /// When its timer is set for; nil when it is not set.
        var tickAt: Duration?

        // In place: a copy of the membership would copy all that it knows.
        mutating func apply(_ body: (inout GossipMembership, Duration) -> Void, _ now: Duration) {
            body(&membership, now)
        }

        /// What is to be done, and when the timer is to be set for another time, that time.
        mutating func takeEffects() -> ([GossipEffect], due: Duration?) {
            let due = membership.nextTick
            return (membership.takeEffects(), due.flatMap { due in tickAt.map { due < $0 } ?? true ? due : nil })
        }

        /// False when the timer was set for another time meanwhile.
        mutating func takeTick(_ run: Int, _ now: Duration) -> Bool {
            guard run == self.run, tickAt == now else { return false }
            tickAt = nil
            return true
        }
    }

    private enum Event {
        case packet([UInt8], from: GossipAddress, to: NodeID)
        case pushPull(from: NodeID, to: NodeID, run: Int)
        case tick(NodeID, run: Int)
        case wake(NodeID, run: Int)
    }

    /// A piece of news that a run of a node sends.
    private struct Transmission: Hashable {
        var node: NodeID
        var run: Int
        var message: GossipMessage
    }

    let seed: UInt64
    var weather = Weather()
    var sabotage = Sabotage.none
    /// A death of a running node that somebody declares is a violation.
    var forbidsFalseDeaths = true
    private(set) var nodes: [NodeID: Node] = [:]
    private(set) var now = Duration.zero
    private(set) var violations: [String] = []
    private(set) var notifications: [(at: Duration, observer: NodeID, what: GossipNotification)] = []
    private(set) var packets = 0
    /// Processes that do not run, since when and until when. What comes meanwhile waits.
    private var stalled: [NodeID: (since: Duration, until: Duration)] = [:]
    /// Directions in which nothing passes.
    var blocked: Set<[NodeID]> = []
    let configuration: GossipConfiguration
    private var random: SplitMix64
    private var events = EventQueue<Event>()
    private var runs = 0
    private var incarnations: [NodeID: UInt64] = [:]
    private var transmissions: [Transmission: Int] = [:]
    private var nodesEver: [GossipAddress: NodeID] = [:]

    init(seed: UInt64, configuration: GossipConfiguration = GossipConfiguration()) {
        self.seed = seed
        self.configuration = configuration
        random = SplitMix64(seed: seed)
    }

    static func id(_ number: Int) -> NodeID {
        guard let id = NodeID("n\(number)") else { fatalError("letters and digits are an ID") }
        return id
    }

    static func address(_ node: NodeID) -> GossipAddress {
        guard let address = GossipAddress("\(node.text):7000") else { fatalError("an ID makes an address") }
        return address
    }

    // MARK: - What happens

    mutating func start(_ node: NodeID, incarnation: UInt64 = 1, store: UInt64 = 1, joins: [NodeID] = []) {
        runs += 1
        let address = Self.address(node)
        nodesEver[address] = node
        var membership = GossipMembership(
            GossipMember(node: node, store: store, gossipAddress: address), incarnation: incarnation,
            configuration: configuration, now: now, randomSeed: random.next())
        membership.join(joins.map(Self.address))
        nodes[node] = Node(membership: membership, run: runs, address: address)
        perform(node)
    }

    mutating func crash(_ node: NodeID) {
        nodes[node] = nil
        stalled[node] = nil
    }

    /// The process does not run for a while, as when it is stopped or has no processor.
    mutating func stall(_ node: NodeID, for duration: Duration) {
        guard let run = nodes[node]?.run, stalled[node] == nil else { return }
        stalled[node] = (now, now + duration)
        events.add(.wake(node, run: run), at: now + duration)
    }

    mutating func with(_ node: NodeID, _ body: (inout GossipMembership, Duration) -> Void) {
        nodes[node]?.apply(body, now)
        perform(node)
    }

    mutating func run(_ duration: Duration) {
        let end = now + duration
        while let (at, event) = events.popNext(until: end) {
            now = at
            handle(event)
        }
        now = end
        checkIncarnations()
    }

    /// Runs until `isDone`, looking every 500 ms; false when that takes longer than `limit`.
    mutating func run(atMost limit: Duration, until isDone: (GossipSimulation) -> Bool) -> Bool {
        let end = now + limit
        while !isDone(self) {
            guard now < end else { return false }
            run(.milliseconds(500))
        }
        return true
    }

    private func target(of event: Event) -> NodeID? {
        switch event {
        case .packet(_, _, let to): to
        case .pushPull(let from, let to, _): stalled[from] == nil ? to : from
        case .tick(let node, _): node
        case .wake: nil
        }
    }

    private mutating func handle(_ event: Event) {
        if let node = target(of: event), nodes[node] != nil, let until = stalled[node]?.until {
            if case .tick = event { nodes[node]?.tickAt = until }
            // In the order in which it came, behind the waking.
            return events.add(event, at: until)
        }
        switch event {
        case .wake(let node, let run):
            guard let since = stalled.removeValue(forKey: node)?.since, nodes[node]?.run == run else { return }
            let now = now
            with(node) { membership, _ in
                membership.clockJumped(by: now - since)
                membership.tick(now: now)
            }
        case .tick(let node, let run):
            guard nodes[node]?.takeTick(run, now) == true else { return }
            with(node) { membership, now in membership.tick(now: now) }
            if let due = nodes[node]?.membership.nextTick, due <= now {
                violations.append("\(node) is due again at the time of its tick")
            }
        case .packet(let bytes, let sender, let receiver):
            guard let messages = GossipCodec.messages(bytes) else {
                violations.append("a packet that cannot be read")
                return
            }
            with(receiver) { $0.receive(messages, from: sender, now: $1) }
        case .pushPull(let from, let to, let run):
            guard nodes[from]?.run == run, nodes[to] != nil, let question = nodes[from]?.membership.records,
                !blocked.contains([from, to]), !blocked.contains([to, from])
            else { return }
            give(question, of: from, to: to)
            if let answer = nodes[to]?.membership.records { give(answer, of: to, to: from) }
        }
    }

    private mutating func give(_ state: [GossipRecord], of sender: NodeID, to node: NodeID) {
        let bytes = GossipCodec.encode(state)
        guard var records = GossipCodec.records(bytes, membersMax: configuration.membersMax) else {
            violations.append("a state that cannot be read")
            return
        }
        if case .noRefutation = sabotage { records.removeAll { $0.member.node == sender && $0.incarnation > 1 } }
        if case .silentLeave = sabotage { records.removeAll { $0.member.node == sender && $0.status == .left } }
        with(node) { $0.merge(records, now: $1) }
    }

    // MARK: - The network

    private mutating func perform(_ node: NodeID) {
        guard let (effects, due) = nodes[node]?.takeEffects(), let run = nodes[node]?.run else { return }
        if let incarnation = nodes[node]?.membership.incarnation, incarnation > incarnations[node] ?? 0 {
            incarnations[node] = incarnation
        }
        if let due {
            // A timer is never early and a little late.
            let at = max(due, now) + .milliseconds(Int.random(in: 1...5, using: &random))
            nodes[node]?.tickAt = at
            events.add(.tick(node, run: run), at: at)
        }
        for effect in effects {
            switch effect {
            case .send(let messages, let address):
                send(sabotaged(messages, by: node), from: node, run: run, to: address)
            case .pushPull(let address):
                if case .noReconnect = sabotage { continue }
                guard let to = nodesEver[address], let delay = exchangeDelay() else { continue }
                events.add(.pushPull(from: node, to: to, run: run), at: now + delay)
            case .notify(let what):
                notifications.append((now, node, what))
                if forbidsFalseDeaths, case .failed(let other) = what, stalled[other] == nil,
                    // Its former run is dead indeed, for whoever has not heard of this one.
                    let store = nodes[other]?.membership.own.store,
                    nodes[node]?.membership.members[other]?.record.member.store == store
                {
                    violations.append("\(now): \(node) held \(other), which runs, for dead")
                }
            }
        }
    }

    private mutating func delay() -> Duration {
        .milliseconds(Int.random(in: weather.delayMilliseconds, using: &random))
    }

    /// TCP repeats what is lost, for a while; nil when it gave up.
    private mutating func exchangeDelay() -> Duration? {
        for repetition in 0..<4 where Double.random(in: 0..<1, using: &random) >= weather.loss {
            return delay() + .milliseconds(200 * repetition)
        }
        return nil
    }

    private mutating func send(
        _ messages: [GossipMessage], from node: NodeID, run: Int, to address: GossipAddress
    ) {
        packets += 1
        let bytes = GossipCodec.encode(messages)
        if bytes.count > configuration.packetBytesMax { violations.append("a packet of \(bytes.count) bytes") }
        guard let to = nodesEver[address], let from = nodes[node]?.address else { return }
        count(messages, from: node, run: run, to: to)
        guard blocked.isEmpty || !blocked.contains([node, to]) else { return }
        for copy in 0..<2 {
            if copy == 1, Double.random(in: 0..<1, using: &random) >= weather.duplication { break }
            if Double.random(in: 0..<1, using: &random) < weather.loss { continue }
            events.add(.packet(bytes, from: from, to: to), at: now + delay())
        }
    }

    private func sabotaged(_ messages: [GossipMessage], by node: NodeID) -> [GossipMessage] {
        switch sabotage {
        case .none, .noReconnect:
            return messages
        case .noRefutation:
            return messages.filter { message in
                if case .alive(let incarnation, let member) = message, member.node == node { return incarnation <= 1 }
                return true
            }
        case .endlessNews:
            guard let membership = nodes[node]?.membership, !messages.isEmpty else { return messages }
            return [.alive(incarnation: membership.incarnation, membership.own)] + messages.dropLast()
        case .raisesOthers:
            return messages.map { message in
                if case .alive(let incarnation, let member) = message, member.node != node {
                    return .alive(incarnation: incarnation + 7, member)
                }
                return message
            }
        case .silentLeave:
            return messages.filter { message in
                if case .dead(_, let left, let by) = message { return left != by }
                return true
            }
        }
    }

    // MARK: - Checkers

    /// News is sent by each node a number of times that grows with the logarithm of the members.
    private mutating func count(_ messages: [GossipMessage], from: NodeID, run: Int, to: NodeID) {
        let limit = configuration.retransmitLimit(members: nodesEver.count)
        for message in messages {
            // What a ping tells a suspected member about itself is no news.
            guard let subject = message.subject, subject != to else { continue }
            let key = Transmission(node: from, run: run, message: message)
            transmissions[key, default: 0] += 1
            if transmissions[key] == limit + 1 {
                violations.append("\(from) sent more than \(limit) times: \(message)")
            }
        }
    }

    /// Nobody knows an incarnation that its owner never had.
    private mutating func checkIncarnations() {
        for (observer, node) in nodes {
            if node.membership.aliveCount != node.membership.members.count(where: \.value.isAlive) {
                violations.append("\(observer) miscounts who is alive")
            }
            for (subject, known) in node.membership.members
            where known.record.incarnation > incarnations[subject] ?? 0 {
                violations.append("\(observer) has incarnation \(known.record.incarnation) of \(subject)")
            }
        }
    }

    /// Everybody who runs holds exactly those for alive that run, with what they say about themselves.
    var isConverged: Bool {
        nodes.values.allSatisfy { observer in
            let others = observer.membership.members.filter(\.value.isAlive)
            return others.count == nodes.count - 1
                && others.allSatisfy { nodes[$0.key]?.membership.own == $0.value.record.member }
        }
    }

    func failures(of node: NodeID) -> Set<NodeID> {
        Set(notifications.filter { $0.what == .failed(node) }.map(\.observer))
    }

    func departures(of node: NodeID) -> Set<NodeID> {
        Set(notifications.filter { $0.what == .left(node) }.map(\.observer))
    }
}

enum Seeds {
    /// The seeds of a property test: `SEED` of the environment, else as many fixed ones as `SEEDS` says, else `count`;
    /// with `SEED=random` random ones. They are the tests' arguments, so a failure shows them.
    static func make(_ count: Int) -> [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap(UInt64.init) { return [seed] }
        let count = environment["SEEDS"].flatMap(UInt64.init) ?? UInt64(count)
        return (0..<max(count, 1)).map { environment["SEED"] == "random" ? .random(in: 0 ... .max) : $0 + 1 }
    }
}
