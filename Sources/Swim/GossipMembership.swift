public import ChatModel

/// SWIM with Lifeguard's extensions as a value: events in, effects out; no socket, clock or randomness of its own.
///
/// `now` is a monotonic clock that the caller passes with every event; it must not go back. Call `tick` when `nextTick`
/// says, which each event may change. After every event the effects are taken with `takeEffects` and performed in order.
///
/// It is a hint for routing and placement. Nothing that must be safe may rest on it: a member that is told dead may
/// live, and two nodes may see different members.
public struct GossipMembership: Sendable {
    public let configuration: GossipConfiguration
    public let node: NodeID
    /// This node's statement about itself.
    public internal(set) var own: GossipMember
    /// The incarnation of that statement; this node raises it with each change and each refutation.
    public internal(set) var incarnation: UInt64
    /// News of a higher incarnation is not believed (``believe(incarnationsUpTo:now:)``).
    var incarnationMax = GossipCodec.incarnationMax
    /// News that was not believed for its incarnation.
    public internal(set) var refusedIncarnations: UInt64 = 0
    var members: [NodeID: Known] = [:]
    /// The keys of `members`, in an order that only the events and the seed decide.
    var roster: [NodeID] = []
    /// How many of `members` are held for alive.
    var aliveCount = 0
    /// One for each member whose status is `suspect`.
    var suspicions: [NodeID: Suspicion] = [:]
    var queue = BroadcastQueue()
    var awareness: Awareness
    var random: SplitMix64
    var effects: [GossipEffect] = []
    var phase = Phase.running
    var seeds: [GossipAddress] = []

    // Probing.
    /// Members that may be gone, to be probed before anybody else; each once.
    var hinted = Fifo<NodeID>()
    var probeOrder: [NodeID] = []
    var isNeighboursTurn = false
    var probe: Probe?
    var relays: [UInt32: Relay] = [:]
    var nextSequence: UInt32

    // Times at which something is due.
    var nextProbe: Duration
    var nextGossip: Duration
    var nextPushPull: Duration
    var pushPullPause: Duration
    var nextReconnect: Duration

    enum Phase: Hashable, Sendable {
        case running
        case leaving(until: Duration)
        case left
    }

    /// Another member.
    struct Known: Sendable {
        var record: GossipRecord
        /// Since when the status holds.
        var since: Duration
    }

    struct Probe: Sendable {
        var target: NodeID
        var sequence: UInt32
        var askOthersAt: Duration
        var deadline: Duration
        var hasAskedOthers = false
        var nacksExpected = 0
        var nacks = 0
    }

    /// A ping for somebody else.
    struct Relay: Sendable {
        var sequence: UInt32
        var requester: GossipAddress
        var nackAt: Duration
        var forgetAt: Duration
        var hasSentNack = false
    }

    /// - Parameter incarnation: higher than that of any earlier run of this node if possible, such as the wall clock in
    ///   seconds. A lower one is corrected by the first refutation.
    public init(
        _ member: GossipMember, incarnation: UInt64, configuration: GossipConfiguration = GossipConfiguration(),
        now: Duration, randomSeed: UInt64
    ) {
        self.configuration = configuration
        node = member.node
        own = member.fitted()
        self.incarnation = min(incarnation, GossipCodec.incarnationMax)
        awareness = Awareness(maxMultiplier: configuration.awarenessMaxMultiplier)
        random = SplitMix64(seed: randomSeed)
        nextSequence = UInt32(truncatingIfNeeded: random.next())
        // Nodes that start together do not speak together.
        nextProbe = now + configuration.probeInterval * Double.random(in: 0...1, using: &random)
        nextGossip = now + configuration.gossipInterval * Double.random(in: 0...1, using: &random)
        pushPullPause = configuration.firstPushPullInterval
        nextPushPull = now + pushPullPause * Double.random(in: 0.5...1.5, using: &random)
        nextReconnect = now + configuration.reconnectInterval * Double.random(in: 0...1, using: &random)
        // The one that it joins through is not the only one to tell of it.
        queue.add(.alive(incarnation: self.incarnation, own))
    }

    // MARK: - What is known

    /// All members that are held for alive, suspected ones included, and this node; by node ID.
    public var alive: [GossipMember] {
        (members.values.filter(\.isAlive).map(\.record.member) + (phase == .running ? [own] : []))
            .sorted { $0.node < $1.node }
    }

    /// Everything that is known, for push-pull; this node first, the others in no order.
    public var records: [GossipRecord] {
        let status: GossipRecord.Status = phase == .running ? .alive : .left
        return [GossipRecord(member: own, incarnation: incarnation, status: status)]
            + roster.compactMap { members[$0]?.record }
    }

    /// How many are known in each state, this node included.
    public var memberCounts: [GossipRecord.Status: Int] {
        var counts: [GossipRecord.Status: Int] = [phase == .running ? .alive : .left: 1]
        for known in members.values { counts[known.record.status, default: 0] += 1 }
        return counts
    }

    /// Doubt in this node's own health: 0 is none.
    public var healthScore: Int { awareness.score }

    /// Takes what is to be done.
    public mutating func takeEffects() -> [GossipEffect] {
        defer { effects = [] }
        return effects
    }

    // MARK: - Events

    /// Gets to know others through any of these addresses, now and whenever this node is alone.
    public mutating func join(_ addresses: [GossipAddress]) {
        seeds = addresses.filter { $0 != own.gossipAddress }
        for seed in seeds { effects.append(.pushPull(with: seed)) }
    }

    /// Says something else about this node: its load, what it leads, its addresses. The node ID stays.
    public mutating func update(_ member: GossipMember) {
        let fitted = member.fitted()
        guard fitted != own, fitted.node == node, phase == .running else { return }
        own = fitted
        raiseIncarnation(above: incarnation)
    }

    /// Tells the others that this node goes; `leaveComplete` follows. Pings are still answered.
    public mutating func leave(now: Duration) {
        guard phase == .running else { return }
        probe = nil
        hinted = Fifo()
        queue.add(.dead(incarnation: incarnation, node, by: node))
        guard aliveCount > 0 else {
            phase = .left
            effects.append(.notify(.leaveComplete))
            return
        }
        phase = .leaving(until: now + configuration.leaveTimeout)
    }

    /// A packet that was authenticated, from the address it came from.
    public mutating func receive(_ messages: [GossipMessage], from sender: GossipAddress, now: Duration) {
        // News first, so that the answer to a ping that brings a suspicion carries the refutation.
        for message in messages {
            switch message {
            case .alive(let incarnation, let member):
                hear(alive: member, incarnation, now)
            case .suspect(let incarnation, let node, let by):
                hear(suspect: node, incarnation, by: by, now)
            case .dead(let incarnation, let node, let by):
                hear(dead: node, incarnation, by: by, now)
            case .ping, .pingRequest, .ack, .nack: break
            }
        }
        for message in messages {
            switch message {
            case .ping(let sequence, let target):
                if target == node { send([.ack(sequence: sequence)], to: sender) }
            case .pingRequest(let sequence, let target):
                relay(sequence, target, for: sender, now)
            case .ack(let sequence):
                acknowledge(sequence)
            case .nack(let sequence):
                if probe?.sequence == sequence { probe?.nacks += 1 }
            case .alive, .suspect, .dead: break
            }
        }
        followHints(now)
    }

    /// Something else than gossip says that the node may be gone, such as the end of a connection. It is pinged at once;
    /// if it answers, nothing has happened.
    public mutating func onNodeLost(_ node: NodeID, now: Duration) {
        guard members[node]?.record.status == .alive else { return }
        hint(at: node)
        followHints(now)
    }

    /// This process did not run for so long, and hears only now what came meanwhile: that nobody has answered is no
    /// evidence. To be called before anything else that happens then.
    public mutating func clockJumped(by time: Duration) {
        // A moment more, so that nothing is due before what came has been read.
        let time = time + configuration.probeTimeout
        for suspected in suspicions.keys { suspicions[suspected]?.prolong(by: time) }
        probe?.askOthersAt += time
        probe?.deadline += time
        awareness.add(1)
    }

    /// Merges another node's knowledge (push-pull).
    public mutating func merge(_ records: [GossipRecord], now: Duration) {
        // A node that knows nobody yet has nobody to tell but those it hears of, and these know each other already.
        let isNews = aliveCount > 0
        for record in records { merge(record, isNews: isNews, now) }
        followHints(now)
    }

    /// Time has passed.
    public mutating func tick(now: Duration) {
        guard phase != .left else { return }
        tickRelays(now)
        if phase == .running {
            tickProbe(now)
            tickExchanges(now)
        }
        // After the probe, whose failure may be what confirms a suspicion.
        endSuspicions(now)
        if now >= nextGossip { gossip(now) }
        if case .leaving(let until) = phase, !queue.contains(node) || now >= until {
            phase = .left
            effects.append(.notify(.leaveComplete))
        }
    }

    /// When `tick` is due if nothing else happens before; nil when time alone changes nothing, as for a node that is
    /// alone and has nobody to look for. It may be past: then `tick` is due at once.
    public var nextTick: Duration? {
        guard phase != .left else { return nil }
        var next: Duration?
        func consider(_ time: Duration) { next = min(next ?? time, time) }
        for suspicion in suspicions.values { consider(suspicion.nextStep) }
        for relay in relays.values { consider(relay.hasSentNack ? relay.forgetAt : relay.nackAt) }
        let hasPeers = aliveCount > 0
        if case .leaving(let until) = phase {
            consider(queue.contains(node) ? until : nextGossip)
        } else {
            if let probe {
                consider(probe.hasAskedOthers ? probe.deadline : probe.askOthersAt)
            } else if hasPeers {
                consider(nextProbe)
            }
            if hasPeers { consider(nextPushPull) }
            if aliveCount < members.count || (!hasPeers && !seeds.isEmpty) {
                consider(nextReconnect)
            }
        }
        // A returning member learns all by an exchange.
        if !queue.isEmpty, hasPeers { consider(nextGossip) }
        return next
    }

    // MARK: - Sending

    /// Members that count for timeouts and retransmissions, this node included.
    var memberCount: Int { 1 + aliveCount }

    /// Sends a probe or an answer, with as much news as fits unless nobody may hear it.
    mutating func send(_ messages: [GossipMessage], to address: GossipAddress, withNews: Bool = true) {
        guard withNews, !queue.isEmpty else {
            effects.append(.send(messages, to: address))
            return
        }
        let used = 1 + messages.reduce(0) { $0 + GossipCodec.encodedBytes($1) }
        let news = queue.take(
            bytesMax: configuration.packetBytesMax - used,
            limit: configuration.retransmitLimit(members: memberCount))
        effects.append(.send(messages + news, to: address))
    }

    mutating func takeSequence() -> UInt32 {
        defer { nextSequence &+= 1 }
        return nextSequence
    }

    private mutating func gossip(_ now: Duration) {
        nextGossip = now + configuration.gossipInterval
        guard !queue.isEmpty else { return }
        let toTheDead = configuration.gossipToTheDead
        // Each piece of news is sent a few times only: not to those who do not hear it.
        for member in pick(configuration.gossipNodes, where: { $0.record.status == .alive }) where !queue.isEmpty {
            send([], to: member.gossipAddress)
        }
        for member in pick(1, where: { $0.record.status == .dead && now - $0.since < toTheDead }) {
            sendDeath(member)
        }
    }

    /// So that it refutes if it lives.
    mutating func sendDeath(_ member: GossipMember) {
        guard let incarnation = members[member.node]?.record.incarnation else { return }
        effects.append(.send([.dead(incarnation: incarnation, member.node, by: node)], to: member.gossipAddress))
    }

    /// Random members of those that are wanted.
    mutating func pick(_ count: Int, where isWanted: (Known) -> Bool) -> [GossipMember] {
        var picked: [GossipMember] = []
        // A shuffle of the roster that ends when enough are found, so that it costs nothing in a large cluster.
        for place in roster.indices where picked.count < count {
            roster.swapAt(place, Int.random(in: place..<roster.count, using: &random))
            if let known = members[roster[place]], isWanted(known) { picked.append(known.record.member) }
        }
        return picked
    }

    /// Anti-entropy, and the search for those who are gone.
    private mutating func tickExchanges(_ now: Duration) {
        if now >= nextPushPull {
            pushPullPause = min(pushPullPause * 2, configuration.pushPullInterval(members: memberCount))
            nextPushPull = now + pushPullPause * Double.random(in: 0.5...1.5, using: &random)
            exchange { $0.isAlive }
        }
        if now >= nextReconnect {
            nextReconnect = now + configuration.reconnectInterval
            for (node, known) in members where !known.isAlive && now - known.since >= configuration.deadRetention {
                forget(node)
            }
            exchange { $0.record.status == .dead }
            if aliveCount == 0 {
                for seed in seeds { effects.append(.pushPull(with: seed)) }
            }
        }
    }

    /// With any of those that are wanted.
    mutating func exchange(where isWanted: (Known) -> Bool) {
        for member in pick(1, where: isWanted) { effects.append(.pushPull(with: member.gossipAddress)) }
    }

    mutating func forget(_ node: NodeID) {
        members[node] = nil
        roster.removeAll { $0 == node }
    }
}

extension GossipMembership.Known {
    var isAlive: Bool { record.status == .alive || record.status == .suspect }
}
