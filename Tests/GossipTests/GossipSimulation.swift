import ChatModel
import Foundation

@testable import Gossip

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
    }

    private enum Event {
        case packet([UInt8], from: GossipAddress, to: NodeID)
        case pushPull(from: NodeID, to: NodeID, run: Int)
        case tick(NodeID, run: Int)
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
    /// Directions in which nothing passes.
    var blocked: Set<[NodeID]> = []
    let configuration: GossipConfiguration
    private var random: SplitMix64
    private var events: [(at: Duration, order: Int, event: Event)] = []
    private var order = 0
    private var runs = 0
    private var incarnations: [NodeID: UInt64] = [:]
    private var transmissions: [String: Int] = [:]
    private var nodesEver: Set<NodeID> = []

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
        nodesEver.insert(node)
        var membership = GossipMembership(
            GossipMember(node: node, store: store, gossipAddress: Self.address(node)), incarnation: incarnation,
            configuration: configuration, now: now, randomSeed: random.next())
        membership.join(joins.map(Self.address))
        nodes[node] = Node(membership: membership, run: runs)
        perform(node)
        schedule(.tick(node, run: runs), after: .milliseconds(Int.random(in: 0..<50, using: &random)))
    }

    mutating func crash(_ node: NodeID) { nodes[node] = nil }

    mutating func with(_ node: NodeID, _ body: (inout GossipMembership, Duration) -> Void) {
        guard var found = nodes[node] else { return }
        body(&found.membership, now)
        nodes[node] = found
        perform(node)
    }

    mutating func run(_ duration: Duration) {
        let end = now + duration
        while let next = events.last, next.at <= end {
            events.removeLast()
            now = next.at
            handle(next.event)
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

    private mutating func schedule(_ event: Event, after delay: Duration) {
        order += 1
        let item = (at: now + delay, order: order, event: event)
        // Descending, so that the next one is the last.
        var low = 0
        var high = events.count
        while low < high {
            let middle = (low + high) / 2
            if (events[middle].at, events[middle].order) > (item.at, item.order) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        events.insert(item, at: low)
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .tick(let node, let run):
            guard nodes[node]?.run == run else { return }
            with(node) { $0.tick(now: $1) }
            schedule(event, after: .milliseconds(50))
        case .packet(let bytes, let sender, let receiver):
            guard let messages = GossipCodec.messages(bytes) else {
                violations.append("a packet that cannot be read")
                return
            }
            with(receiver) { $0.receive(messages, from: sender, now: $1) }
        case .pushPull(let from, let to, let run):
            guard let asking = nodes[from], asking.run == run, let asked = nodes[to],
                !blocked.contains([from, to]), !blocked.contains([to, from])
            else { return }
            let there = GossipCodec.encode(asking.membership.records)
            let back = GossipCodec.encode(asked.membership.records)
            for (node, bytes) in [(to, there), (from, back)] {
                guard let records = GossipCodec.records(bytes, membersMax: configuration.membersMax) else {
                    violations.append("a state that cannot be read")
                    continue
                }
                with(node) { $0.merge(records, now: $1) }
            }
        }
    }

    // MARK: - The network

    private mutating func perform(_ node: NodeID) {
        guard var found = nodes[node] else { return }
        let effects = found.membership.takeEffects()
        nodes[node] = found
        incarnations[node] = max(incarnations[node] ?? 0, found.membership.records[0].incarnation)
        for effect in effects {
            switch effect {
            case .send(let messages, let address):
                send(sabotaged(messages, by: node), from: node, run: found.run, to: address)
            case .pushPull(let address):
                if case .noReconnect = sabotage { continue }
                guard let to = receiver(address), Double.random(in: 0..<1, using: &random) >= weather.loss else {
                    continue
                }
                schedule(.pushPull(from: node, to: to, run: found.run), after: delay())
            case .notify(let what):
                notifications.append((now, node, what))
                if forbidsFalseDeaths, case .failed(let other) = what, nodes[other] != nil {
                    violations.append("\(now): \(node) held \(other), which runs, for dead")
                }
            }
        }
    }

    private func receiver(_ address: GossipAddress) -> NodeID? {
        NodeID(String(address.text.prefix { $0 != ":" }))
    }

    private mutating func delay() -> Duration {
        .milliseconds(Int.random(in: weather.delayMilliseconds, using: &random))
    }

    private mutating func send(_ messages: [GossipMessage], from: NodeID, run: Int, to address: GossipAddress) {
        packets += 1
        let bytes = GossipCodec.encode(messages)
        if bytes.count > configuration.packetBytesMax { violations.append("a packet of \(bytes.count) bytes") }
        guard let to = receiver(address) else { return }
        count(messages, from: from, run: run, to: to)
        guard !blocked.contains([from, to]) else { return }
        for copy in 0..<2 {
            if copy == 1, Double.random(in: 0..<1, using: &random) >= weather.duplication { break }
            if Double.random(in: 0..<1, using: &random) < weather.loss { continue }
            schedule(.packet(bytes, from: Self.address(from), to: to), after: delay())
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
            guard let own = nodes[node]?.membership.records.first else { return messages }
            return messages.isEmpty
                ? messages : [.alive(incarnation: own.incarnation, own.member)] + messages.dropLast()
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
            let key = "\(from) \(run) \(message)"
            transmissions[key, default: 0] += 1
            if transmissions[key] == limit + 1 {
                violations.append("\(from) sent more than \(limit) times: \(message)")
            }
        }
    }

    /// Nobody knows an incarnation that its owner never had.
    private mutating func checkIncarnations() {
        for (observer, node) in nodes {
            for record in node.membership.records where record.incarnation > incarnations[record.member.node] ?? 0 {
                violations.append("\(observer) has incarnation \(record.incarnation) of \(record.member.node)")
            }
        }
    }

    /// Everybody who runs holds exactly those for alive that run, with what they say about themselves.
    var isConverged: Bool {
        let truth = nodes.values.map { $0.membership.records[0].member }.sorted { $0.node < $1.node }
        return nodes.values.allSatisfy { $0.membership.alive == truth }
    }

    func failures(of node: NodeID) -> Set<NodeID> {
        Set(notifications.filter { $0.what == .failed(node) }.map(\.observer))
    }

    func departures(of node: NodeID) -> Set<NodeID> {
        Set(notifications.filter { $0.what == .left(node) }.map(\.observer))
    }
}

enum Seeds {
    /// The seeds of a property test: the one in the environment's SEED, else always the same `count` of them, so that a
    /// rare schedule of this first version does not stop work on something else.
    static func make(_ count: Int) -> [UInt64] {
        if let text = ProcessInfo.processInfo.environment["SEED"], let seed = UInt64(text) { return [seed] }
        return (1...UInt64(count)).map { $0 }
    }
}
