public import ChatModel
public import EventLoop
public import Swim
public import Transport

/// One node's place in the membership of the cluster: drives a `GossipMembership` over UDP, with TCP for exchanges of
/// everything. All that it sends is sealed with the cluster's keys, and nothing that does not open is answered.
///
/// Bound to its loop: everything, and all calls of the observer, happen there. A node that is alone and has no seeds
/// has no timer either.
///
/// Its sockets keep it alive until it is closed. Its events are hints for routing and placement: nothing that must be
/// safe may rest on it.
public final class MembershipDriver {
    /// Where others reach it.
    public let address: GossipAddress
    /// Packets and connections that were not of this cluster, damaged, too old or seen before.
    public private(set) var refusedCount = 0
    /// Packets that the system did not take.
    public private(set) var unsentCount = 0
    /// Whether something else than gossip knows of a node at that address: who comes from there finds a place.
    public var knowsOtherwise: (_ host: String) -> Bool = { _ in false }

    private let loop: EventLoop
    private let configuration: MembershipConfiguration
    private let wallClockMilliseconds: () -> Int64
    private let observe: (MembershipDriver, GossipNotification) -> Void
    private let takeOther: ((TCPConnection, [UInt8]) -> Void)?
    private let sockets: MembershipSockets
    private var core: GossipMembership
    private var sealer: PacketSealer
    /// The pending wake-up: the time that it is due for, and when it should come.
    private var wakeUp: (due: Duration, at: Duration, timer: LoopTimer)?
    private var incoming: [ObjectIdentifier: StateExchange] = [:]
    private var strangers: StrangerPlaces<ObjectIdentifier>
    private var outgoing: [ObjectIdentifier: StateExchange] = [:]
    /// Nodes with which an exchange was begun that has not ended: one at a time with each.
    private var asked: Set<GossipAddress> = []
    private var isClosed = false

    /// The purpose of a sealed state: one cannot be taken for the other, nor for a packet, whose first byte is 1.
    private enum Purpose: UInt8 {
        case question = 2
        case answer = 3
    }

    /// Binds and begins. On the loop only.
    ///
    /// - Parameters:
    ///   - seeds: Members to get to know the others through; a host may be a name. This node's own address may be among
    ///     them, so that all nodes can have the same list.
    ///   - wallClockMilliseconds: The wall clock. Sealed bytes are fresh for a minute, so clocks must not differ by
    ///     more.
    ///   - describe: What this node says about itself, given the address where others reach it.
    ///   - takeOther: Takes over connections to the TCP port that are not gossip's, with what was read of them: they do
    ///     not read and have no handler. nil: such connections are closed.
    ///   - observe: Called with what happens, on the loop. It may call the driver.
    public init(
        loop: EventLoop, configuration: MembershipConfiguration, keys: KeyRing, seeds: [GossipAddress],
        wallClockMilliseconds: @escaping () -> Int64, describe: (GossipAddress) -> GossipMember,
        takeOther: ((TCPConnection, [UInt8]) -> Void)? = nil,
        observe: @escaping (MembershipDriver, GossipNotification) -> Void
    ) throws(MembershipError) {
        self.loop = loop
        self.configuration = configuration
        self.wallClockMilliseconds = wallClockMilliseconds
        self.observe = observe
        self.takeOther = takeOther
        strangers = StrangerPlaces(
            configuration.strangers, patience: configuration.strangers.patience.wholeMilliseconds)
        var session: [UInt8] = []
        for _ in 0..<16 { session.append(.random(in: 0 ... .max)) }
        guard let sealer = PacketSealer(keys, session: session) else {
            preconditionFailure("a key ring has a key, and the session has 16 bytes")
        }
        self.sealer = sealer
        do throws(TransportError) {
            sockets = try MembershipSockets(
                loop: loop, host: configuration.host, port: configuration.port,
                acceptsPerTurn: configuration.strangers.acceptsPerTurn)
        } catch {
            throw MembershipError(error)
        }
        let host = configuration.advertisedHost ?? configuration.host
        guard let address = GossipAddress(host: host, port: sockets.port) else {
            sockets.close()
            throw MembershipError(.invalidAddress, "\(host) and \(sockets.port) make no address that others can use")
        }
        self.address = address
        // The wall clock makes it higher than in any earlier run; if it was set back, the first refutation mends it.
        let incarnation = UInt64(clamping: wallClockMilliseconds())
        core = GossipMembership(
            describe(address), incarnation: incarnation, configuration: configuration.gossip,
            now: .milliseconds(loop.nowMilliseconds), randomSeed: .random(in: 0 ... .max))
        sockets.start(
            onDatagram: { [self] in receive($0, fromHost: $1, port: $2) },
            onConnection: { [self] in accept($0) })
        handle { core, _ in core.join(seeds) }
    }

    // MARK: - For the node

    /// This node's statement about itself.
    public var own: GossipMember { core.own }

    /// All that is known, this node first.
    public var records: [GossipRecord] { core.records }

    /// How many are known in each state, this node included.
    public var memberCounts: [GossipRecord.Status: Int] { core.memberCounts }

    /// Connections that others have begun and that have not said what they are for.
    public var strangerCount: Int { strangers.count }

    /// Says something else about this node, if it is something else.
    public func update(_ change: (inout GossipMember) -> Void) {
        var member = own
        change(&member)
        handle { core, _ in core.update(member) }
    }

    /// Something else than gossip says that the node may be gone: it is asked at once. If it answers, nothing happens.
    public func onNodeLost(_ node: NodeID) {
        loop.checkIsolated()
        handle { $0.onNodeLost(node, now: $1) }
    }

    /// Takes over other keys; `KeyRing` says in which order to rotate.
    public func use(_ keys: KeyRing) {
        loop.checkIsolated()
        sealer.use(keys)
    }

    /// Tells the others that this node goes; `leaveComplete` is observed when they know, or after `leaveTimeout`.
    public func leave() {
        handle { $0.leave(now: $1) }
    }

    /// Ends at once and frees the port; others notice it as a crash unless it has left before. Idempotent.
    public func close() {
        loop.checkIsolated()
        guard !isClosed else { return }
        isClosed = true
        wakeUp?.timer.cancel()
        wakeUp = nil
        sockets.close()
        for exchange in incoming.values { exchange.end() }
        for exchange in outgoing.values { exchange.end() }
    }

    // MARK: - Effects

    private var now: Duration { .milliseconds(loop.nowMilliseconds) }

    /// Gives the core an event and does what follows from it.
    private func handle(_ event: (inout GossipMembership, Duration) -> Void) {
        guard !isClosed else { return }
        // This process was stopped, or had no processor: what it has missed is no fault of the others.
        if let at = wakeUp?.at, now - at >= configuration.gossip.probeTimeout {
            core.clockJumped(by: now - at)
            wakeUp?.at = now
        }
        let clock = UInt64(clamping: wallClockMilliseconds())
        core.believe(incarnationsUpTo: clock + min(.max - clock, Self.incarnationLead), now: clock)
        event(&core, now)
        for effect in core.takeEffects() {
            switch effect {
            case .send(let messages, let address): send(messages, to: address)
            case .pushPull(let address): beginExchange(with: address)
            case .notify(let what): observe(self, what)
            }
        }
        setTimer()
    }

    /// Incarnations are milliseconds of a clock that is a minute off at most, and rise with refutations.
    private static let incarnationLead: UInt64 = 86_400_000

    private func send(_ messages: [GossipMessage], to address: GossipAddress) {
        guard !isClosed, let (host, port) = address.hostAndPort,
            let packet = sealer.seal(GossipCodec.encode(messages), milliseconds: wallClockMilliseconds())
        else { return }
        if !sockets.send(packet, toHost: host, port: port) { unsentCount += 1 }
    }

    private func setTimer() {
        let due = isClosed ? nil : core.nextTick
        guard due != wakeUp?.due else { return }
        wakeUp?.timer.cancel()
        wakeUp = nil
        guard let due else { return }
        let timer = loop.schedule(
            afterMilliseconds: (due - now).wholeMilliseconds,
            atMultipleOf: configuration.timerInterval.wholeMilliseconds
        ) { [self] in
            handle { core, now in
                wakeUp = nil
                core.tick(now: now)
            }
        }
        wakeUp = (due, max(due, now) + configuration.timerInterval, timer)
    }

    // MARK: - Packets

    private func receive(_ bytes: UnsafeRawBufferPointer, fromHost host: String, port: Int) {
        guard bytes.count <= configuration.gossip.packetBytesMax + PacketSealer.overheadBytes,
            let contents = sealer.open(bytes, milliseconds: wallClockMilliseconds()),
            let messages = GossipCodec.messages(contents), let sender = GossipAddress(host: host, port: port)
        else {
            refusedCount += 1
            return
        }
        handle { $0.receive(messages, from: sender, now: $1) }
    }

    // MARK: - Exchanges

    /// The bound of a frame's content.
    private var stateBytesMax: Int {
        1 + GossipCodec.stateBytesMax(members: configuration.gossip.membersMax) + PacketSealer.overheadBytes
    }

    private func accept(_ connection: TCPConnection) {
        guard !isClosed else { return connection.close() }
        let (id, host) = (ObjectIdentifier(connection), connection.remoteAddress)
        let admission = strangers.admit(
            id, from: host, isKnown: isKnown(host), hasSpoken: false, at: loop.nowMilliseconds
        ) { incoming[$0]?.hasUnreadInput ?? false }
        guard case .admitted(let displaced) = admission else { return connection.close() }
        if let displaced { incoming[displaced]?.end() }
        let exchange = StateExchange(
            connection, bytesMax: stateBytesMax, timeout: min(configuration.exchangeTimeout, limits.introduction),
            firstByte: limits.firstByte
        ) { [self] exchange, sealed in
            guard let records = open(sealed, .question) else { return exchange.end() }
            handle { $0.merge(records, now: $1) }
            // An observer may have closed this driver.
            if !isClosed, let answer = sealState(.answer) {
                exchange.send(answer)
                exchange.finish()
            } else {
                exchange.end()
            }
        } onOther: { [self] connection, received in
            guard let takeOther else { return connection.close() }
            takeOther(connection, received)
        } onSpeak: { [self] in
            strangers.spoke(id, at: loop.nowMilliseconds)
        } onEnd: { [self] _ in
            incoming[id] = nil
            strangers.leave(id)
        }
        incoming[id] = exchange
    }

    private var limits: StrangerLimits { configuration.strangers }

    /// Whether a node is known at that address, by whichever way.
    private func isKnown(_ host: String) -> Bool {
        core.records.contains { $0.member.gossipAddress.hostAndPort?.host == host } || knowsOtherwise(host)
    }

    private func beginExchange(with address: GossipAddress) {
        guard !isClosed, asked.count < configuration.outgoingExchangesMax, let (host, port) = address.hostAndPort,
            asked.insert(address).inserted
        else { return }
        TCPConnection.connect(
            loop: loop, host: host, port: port, timeoutMilliseconds: configuration.exchangeTimeout.wholeMilliseconds
        ) { [self] result in
            switch result {
            case .success(let connection):
                guard !isClosed else { return connection.close() }
                exchange(over: connection, with: address)
            // Nobody is there; the membership tries again by itself.
            case .failure:
                asked.remove(address)
            }
        }
    }

    private func exchange(over connection: TCPConnection, with address: GossipAddress) {
        let exchange = StateExchange(
            connection, bytesMax: stateBytesMax, timeout: configuration.exchangeTimeout
        ) { [self] exchange, sealed in
            exchange.end()
            guard let records = open(sealed, .answer) else { return }
            handle { $0.merge(records, now: $1) }
        } onEnd: { [self] in
            outgoing[ObjectIdentifier($0)] = nil
            asked.remove(address)
        }
        outgoing[ObjectIdentifier(exchange)] = exchange
        if let question = sealState(.question) {
            exchange.send(question)
        } else {
            exchange.end()
        }
    }

    private func sealState(_ purpose: Purpose) -> [UInt8]? {
        sealer.seal([purpose.rawValue] + GossipCodec.encode(core.records), milliseconds: wallClockMilliseconds())
    }

    private func open(_ sealed: [UInt8], _ purpose: Purpose) -> [GossipRecord]? {
        guard let contents = sealer.open(sealed, milliseconds: wallClockMilliseconds()),
            contents.first == purpose.rawValue,
            let records = GossipCodec.records(contents.dropFirst(), membersMax: configuration.gossip.membersMax)
        else {
            refusedCount += 1
            return nil
        }
        return records
    }
}
