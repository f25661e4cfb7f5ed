import ChatModel
import Swim
import SwimDriver
import StorageTestKit

/// Many gossip cores on one clock and one network: how long news takes to be everywhere, and what it costs.
///
/// The configuration is the node's own but for `membersMax`. Sizes are those of the real codec with the seal around it;
/// what UDP, TCP and IP add is not counted.
package struct GossipScale {
    /// How the network is.
    package struct Weather: Sendable {
        /// Of packets, in percent. TCP repeats what it loses.
        package var lossPercent = 1
        package var delayMilliseconds = 1...20

        package init() {}
    }

    /// What everybody sent in some stretch of time.
    package struct Traffic: Sendable {
        package var packets = 0
        package var packetBytes = 0
        package var exchanges = 0
        package var exchangeBytes = 0

        package init() {}

        /// Bytes that a node sends in a second.
        package func bytesPerNodeAndSecond(nodes: Int, _ time: Duration) -> Double {
            Double(packetBytes + exchangeBytes) / Double(nodes) / (time / .seconds(1))
        }
    }

    private enum Event {
        case packet([GossipMessage], from: Int, to: Int)
        case exchange(from: Int, to: Int)
        case linkEnded(at: Int, with: Int)
        case tick(Int, due: Duration)
    }

    private struct Node {
        var core: GossipMembership
        var isUp = true
        var tickAt: Duration?
        /// By number: whether it was told of as there, and not as gone since.
        var holds: [Bool]
    }

    private let weather: Weather
    private let configuration: GossipConfiguration
    private let nodesMax: Int
    private var nodes: [Node] = []
    private var random: SeededGenerator
    private var events = EventQueue<Event>()
    package private(set) var now = Duration.zero
    /// Since it was last asked for.
    private var traffic = Traffic()
    /// Nodes that run and were declared dead by anybody, each time.
    package private(set) var falseDeaths = 0
    /// Nodes that run and were suspected by anybody, each time.
    package private(set) var falseSuspicions = 0
    /// Packets that are longer than they may be.
    package private(set) var tooLong = 0

    /// - Parameter nodes: how many there will be at most.
    package init(nodes: Int, seed: UInt64, weather: Weather = Weather()) {
        self.weather = weather
        nodesMax = nodes
        var configuration = GossipConfiguration()
        configuration.membersMax = max(configuration.membersMax, nodes)
        self.configuration = configuration
        random = SeededGenerator(seed: seed)
    }

    package var runningCount: Int { nodes.count(where: \.isUp) }

    // MARK: - What happens

    /// Begins a node that knows the first one's address. Returns its number.
    @discardableResult
    package mutating func start() -> Int {
        let number = nodes.count
        precondition(number < nodesMax)
        // As long as those of a real node.
        var member = GossipMember(
            node: Self.id(number), store: random.next(), gossipAddress: Self.address(number, port: 7_001))
        member.linkAddress = member.gossipAddress
        member.clientAddress = Self.address(number, port: 7_000)
        member.version = "1.0.0"
        var core = GossipMembership(
            member, incarnation: 1_764_000_000_000, configuration: configuration, now: now, randomSeed: random.next())
        if number > 0 { core.join([Self.address(0, port: 7_001)]) }
        nodes.append(Node(core: core, holds: Array(repeating: false, count: nodesMax)))
        perform(number)
        return number
    }

    /// - Parameter endsLinks: the process dies and not the machine: its system ends the connections to all others, and
    ///   tells them.
    package mutating func crash(_ number: Int, endsLinks: Bool = false) {
        nodes[number].isUp = false
        guard endsLinks else { return }
        for other in nodes.indices where nodes[other].isUp {
            events.add(.linkEnded(at: other, with: number), at: now + delay())
        }
    }

    /// Says good-bye, and ends when the others know.
    package mutating func leave(_ number: Int) {
        nodes[number].core.leave(now: now)
        perform(number)
    }

    private static func id(_ number: Int) -> NodeID {
        guard let id = NodeID("n\(number)") else { preconditionFailure("letters and digits are an ID") }
        return id
    }

    private static func address(_ number: Int, port: Int) -> GossipAddress {
        guard let address = GossipAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255):\(port)") else {
            preconditionFailure("numbers make an address")
        }
        return address
    }

    private static func number(_ address: GossipAddress) -> Int {
        let host = address.text.prefix { $0 != ":" }
        return host.split(separator: ".").dropFirst().reduce(0) { $0 << 8 | (Int($1) ?? 0) }
    }

    package mutating func run(_ duration: Duration) {
        let end = now + duration
        while let (at, event) = events.popNext(until: end) {
            now = at
            handle(event)
        }
        now = end
    }

    /// Runs until that holds, looking every 50 ms. Returns how long it took; nil when that is longer than `limit`.
    package mutating func run(atMost limit: Duration, until isDone: (borrowing GossipScale) -> Bool) -> Duration? {
        let start = now
        while !isDone(self) {
            guard now - start < limit else { return nil }
            run(.milliseconds(50))
        }
        return now - start
    }

    /// Everybody who runs holds exactly those for alive that run, suspected or not.
    package var isConverged: Bool {
        nodes.indices.allSatisfy { observer in
            !nodes[observer].isUp
                || nodes.indices.allSatisfy { $0 == observer || nodes[observer].holds[$0] == nodes[$0].isUp }
        }
    }

    /// How many of those who run hold that node for alive, suspected or not.
    package func believers(in number: Int) -> Int { nodes.count { $0.isUp && $0.holds[number] } }

    package mutating func takeTraffic() -> Traffic {
        defer { traffic = Traffic() }
        return traffic
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .packet(let messages, let from, let to):
            guard nodes[to].isUp else { return }
            nodes[to].core.receive(messages, from: nodes[from].core.own.gossipAddress, now: now)
            perform(to)
        case .exchange(let from, let to):
            guard nodes[from].isUp, nodes[to].isUp else { return }
            traffic.exchanges += 1
            give(nodes[from].core.records, to: to)
            give(nodes[to].core.records, to: from)
        case .linkEnded(let number, let other):
            guard nodes[number].isUp else { return }
            nodes[number].core.onNodeLost(nodes[other].core.node, now: now)
            perform(number)
        case .tick(let number, let due):
            guard nodes[number].isUp, nodes[number].tickAt == due else { return }
            nodes[number].tickAt = nil
            nodes[number].core.tick(now: now)
            perform(number)
        }
    }

    private mutating func give(_ records: [GossipRecord], to number: Int) {
        // The length before it, its purpose and the seal.
        traffic.exchangeBytes += GossipCodec.encode(records).count + PacketSealer.overheadBytes + 5
        nodes[number].core.merge(records, now: now)
        perform(number)
    }

    // MARK: - The network

    private mutating func perform(_ number: Int) {
        let effects = nodes[number].core.takeEffects()
        for effect in effects {
            switch effect {
            case .send(let messages, let address): send(messages, from: number, to: Self.number(address))
            case .pushPull(let address):
                let to = Self.number(address)
                guard to < nodes.count else { continue }
                events.add(.exchange(from: number, to: to), at: now + delay() + delay())
            case .notify(let what): note(what, by: number)
            }
        }
        guard let due = nodes[number].core.nextTick else { return }
        // A timer is never early and a little late.
        let at = max(due, now) + .milliseconds(1)
        guard nodes[number].tickAt.map({ at < $0 }) ?? true else { return }
        nodes[number].tickAt = at
        events.add(.tick(number, due: at), at: at)
    }

    private mutating func send(_ messages: [GossipMessage], from: Int, to: Int) {
        let bytes = GossipCodec.encode(messages).count
        if bytes > configuration.packetBytesMax { tooLong += 1 }
        traffic.packets += 1
        traffic.packetBytes += bytes + PacketSealer.overheadBytes
        guard to < nodes.count, !random.chance(weather.lossPercent) else { return }
        events.add(.packet(messages, from: from, to: to), at: now + delay())
    }

    private mutating func delay() -> Duration { random.milliseconds(weather.delayMilliseconds) }

    private mutating func note(_ what: GossipNotification, by number: Int) {
        switch what {
        case .joined(let member): nodes[number].holds[Self.number(member.node)] = true
        case .failed(let node):
            let other = Self.number(node)
            nodes[number].holds[other] = false
            if nodes[other].isUp { falseDeaths += 1 }
        case .left(let node): nodes[number].holds[Self.number(node)] = false
        case .suspected(let node): if nodes[Self.number(node)].isUp { falseSuspicions += 1 }
        case .leaveComplete: nodes[number].isUp = false
        case .updated, .refuted, .conflict: break
        }
    }

    private static func number(_ node: NodeID) -> Int { Int(node.text.dropFirst()) ?? 0 }
}
