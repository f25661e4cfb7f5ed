import ChatModel
import EventLoop
import Logging
import Moderation
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import TLS
import Telemetry
import Transport
import Wire

/// The client side of a node: one lane per loop, each with a listening socket of its own on the same port.
public final class Gateway: Sendable {
    private let configuration: GatewayConfiguration
    private let loops: [EventLoop]
    let shared: GatewayShared
    private let logger: Logger

    public init(
        configuration: GatewayConfiguration, loops: [EventLoop], router: any RoomRouter,
        elsewhere: any SessionsElsewhere = NoSessionsElsewhere(), seal: SessionSeal = .ofThisRun(),
        shardMap: ShardMap, verifier: any TokenVerifier, metrics: MetricsRegistry, logger: Logger,
        tls: TLSContext? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.loops = loops
        self.logger = logger
        shared = GatewayShared(
            configuration: configuration, router: router, elsewhere: elsewhere, seal: seal, shardMap: shardMap,
            verifier: verifier, metrics: metrics, tls: tls, now: now)
        shared.devices.use { [shared] user, devices in
            for (number, ids) in shared.directory.sessions(of: user) {
                guard let lane = shared.lanes.withLock({ number < $0.count ? $0[number] : nil }) else { continue }
                lane.loop.execute { lane.value.sendDevices(devices, to: ids) }
            }
        }
    }

    /// Binds the client port on every loop and begins to serve. Returns the port. Throws `TransportError` when it is
    /// taken.
    public func start() async throws -> Int {
        var port = configuration.port
        for (number, loop) in loops.enumerated() {
            let (configuration, shared, logger, wanted) = (configuration, shared, logger, port)
            let bound = try await loop.run { () throws -> Int in
                // The lanes share the port among themselves, and would share it with another node of this user, too:
                // so it must first be free for one who doesn't share it.
                if number == 0, wanted != 0 {
                    try TCPListener(loop: loop, host: configuration.host, port: wanted, reusePort: false) { $0.close() }
                        .close()
                }
                let lane = GatewayLane(
                    number: number, loop: loop, configuration: configuration, shared: shared, logger: logger)
                let bound = LoopBound(onLoop: lane, loop: loop)
                // Known before it listens: what is said to all lanes is said to each that has clients.
                shared.lanes.withLock { $0.append(bound) }
                do {
                    return try lane.start(port: wanted)
                } catch {
                    shared.lanes.withLock { _ = $0.popLast() }
                    throw error
                }
            }
            // With port 0 the first lane's choice is everybody's.
            port = bound
        }
        return port
    }

    /// The URLs that clients are told, best first; empty before it has started.
    public func urls() async -> [String] {
        guard let lane = shared.lanes.withLock({ $0.first }) else { return [] }
        return await lane.loop.run { lane.value.gateways }
    }

    /// Those of this node alone.
    public func ownURLs() async -> [String] {
        guard let lane = shared.lanes.withLock({ $0.first }) else { return [] }
        return await lane.loop.run { lane.value.ownGateways }
    }

    /// - Parameters:
    ///   - urls: What clients are told of where to connect: this node's URLs and those of others.
    ///   - listed: The URLs of all nodes of the cluster, also of those that are dead: their pages come here.
    public func use(urls: [String], listed: [String]) async {
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run {
                lane.value.gateways = urls
                lane.value.origins.use(gateways: urls + listed)
            }
        }
    }

    /// Sets the features that every node of the cluster serves, as `connect` lists them from now on.
    public func use(features: [String]) {
        shared.features.withLock { $0 = features }
        shared.takesTaps.store(features.contains(Feature.tallies.clientName ?? ""), ordering: .relaxed)
    }

    /// Serves content from now on.
    public func use(media: any MediaService) { shared.media.withLock { $0 = media } }

    /// Serves the demo from now on, where the configuration has it.
    public func use(demo: any DemoService) { shared.demo.withLock { $0 = demo } }

    /// Newcomers are sent elsewhere as long as there is a reason; nil: they are let in.
    public func refuseNewcomers(because reason: String?) async {
        for lane in shared.lanes.withLock({ $0 }) { await lane.loop.run { lane.value.refusalOfNewcomers = reason } }
    }

    /// Sets the words by which barrage is moderated from now on.
    public func set(words: WordFilter) async {
        shared.set(words: words)
        for lane in shared.lanes.withLock({ $0 }) { await lane.loop.run { lane.value.words = words } }
    }

    /// Asks every client to make a connection elsewhere, where others have its session in its grace. A client that can't stays.
    public func askAllToMove() async {
        let windowMs = min(
            Self.cutOffWindowMaxMs, Self.drainWindowMs(connections: shared.budget.total, drainSeconds: 10))
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run { lane.value.askAllToMove(windowMs: windowMs) }
        }
    }

    /// Others see a node that is cut off as dead after some two seconds, which is when the grace begins.
    private static let cutOffWindowMaxMs: Int64 = 3_000

    /// Tells every client to come back elsewhere, and closes their connections.
    ///
    /// It ends its sessions too, where the others have ended their grace by now: it would announce them anew when it hears the
    /// cluster again, to everybody who has seen them leave.
    /// - Parameters:
    ///   - silence: for how long this node has not been heard.
    ///   - endedElsewhere: whether there may be others that lead without this node.
    public func sendAllAway(after silence: Duration, endedElsewhere: Bool) async {
        let areOver = endedElsewhere && silence >= .seconds(configuration.graceSeconds) + Self.noticedWithin
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run { lane.value.sendAllAway(endingSessions: areOver) }
        }
    }

    /// Others see a node that is cut off as dead after some two seconds, and their leaders end what it has after its grace.
    private static let noticedWithin = Duration.seconds(10)

    /// Puts other limits and another certificate in force (SIGHUP): for sessions from now on, for connections that come.
    /// Nobody who is here is put out. Whether there is TLS at all does not change.
    /// - Parameter seal: nil: as before.
    public func reload(limits: GatewayConfiguration, tls: TLSContext?, seal: SessionSeal?) async {
        if let tls { shared.renew(tls) }
        if let seal { shared.use(seal) }
        shared.budget.set(limits.connections)
        shared.admission.set(limits.admission)
        shared.userRates.withLock { $0.set(limits.rateLimits) }
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run { lane.value.adoptLimits(of: limits) }
        }
    }

    /// Clients leave for other nodes, and are served until they have: a planned stop is no loss to them (PROTOCOL.md,
    /// "Moving"). Returns when nobody is left, or after `drainSeconds`. Then closes what is left, and accepts nobody.
    /// - Parameter hasOthers: whether there is another node to go to.
    public func drain(toOthers hasOthers: Bool) async {
        let seconds = configuration.drainSeconds
        let movesClients = hasOthers && seconds > 0
        if movesClients {
            let windowMs = Self.drainWindowMs(connections: shared.budget.total, drainSeconds: seconds)
            for lane in shared.lanes.withLock({ $0 }) {
                await lane.loop.run { lane.value.beginDraining(windowMs: windowMs) }
            }
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end, await isNeeded() {
                try? await Task.sleep(for: Self.drainLook)
            }
        }
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run { lane.value.stop(isTold: movesClients) }
        }
    }

    /// So many clients a second move in some 50 ms each on a busy machine of two CPUs that has both nodes and the clients.
    /// With twice as many they wait for each other.
    private static let movesPerSecond: Int64 = 250
    private static let drainWindowMinMs: Int64 = 250
    /// At the end of the window the last ones still have so long to arrive.
    private static let drainReserveMs: Int64 = 2_000
    private static let drainLook = Duration.milliseconds(50)

    /// How long clients may wait before they move: as few a second as drainSeconds allow, and no longer than others need
    /// to take them.
    static func drainWindowMs(connections: Int, drainSeconds: Int64) -> Int64 {
        let longest = max(0, drainSeconds * 1_000 - drainReserveMs)
        return min(longest, drainWindowMinMs + Int64(connections) * 1_000 / movesPerSecond)
    }

    private func isNeeded() async -> Bool {
        for lane in shared.lanes.withLock({ $0 }) where await lane.loop.run({ lane.value.isNeeded }) {
            return true
        }
        return false
    }

    /// Cuts what is still open.
    public func stop() async {
        for lane in shared.lanes.withLock({ $0 }) {
            await lane.loop.run { lane.value.cutAll() }
        }
        shared.devices.stop()
    }

    /// The viewers of a room on each lane that has any.
    public func figures(of room: RoomID) async -> [LaneFigures] {
        var all: [LaneFigures] = []
        for lane in shared.lanes.withLock({ $0 }) {
            if let figures = await lane.loop.run({ lane.value.figures(of: room) }) { all.append(figures) }
        }
        return all
    }

    /// Takes publications of rooms for the lanes of this node, in order: one hand-over for each lane that is concerned.
    ///
    /// - Parameter node: on which the rooms are led.
    public func deliver(_ publications: [NodePublication], from node: NodeID) {
        for (lane, positions) in NodePublication.byLane(publications) {
            guard let target = self.lane(lane) else { continue }
            if target.loop.isOnLoop {
                target.value.perform(publications, at: positions, from: node)
            } else {
                target.loop.execute { target.value.perform(publications, at: positions, from: node) }
            }
        }
    }

    /// A node leads a shard from now on, as it says itself. Its publications of that shard's rooms come after this.
    public func onLeaderKnown(_ notice: ShardNotice, by node: NodeID) {
        onEachLane { $0.onLeaderKnown(notice, by: node) }
    }

    /// Takes a node's tallies of each lane, for the shards that it leads; behind what their rooms have told.
    public func hear(_ pulses: [ShardPulse], from node: NodeID) {
        onEachLane { $0.hear(pulses, from: node) }
    }

    /// The same of one lane, which has asked, room by room.
    public func hear(_ tallies: ShardTallies, from node: NodeID) {
        guard let target = lane(tallies.lane) else { return }
        if target.loop.isOnLoop {
            target.value.hear(tallies, from: node)
        } else {
            target.loop.execute { target.value.hear(tallies, from: node) }
        }
    }

    /// Another node reports the requests of users there: they count towards the rates of the same users here.
    public func hear(_ uses: [UserUse]) {
        // The loops read the same clock.
        let now = EventLoop.nowNanoseconds / 1_000_000
        var left = uses[...]
        while !left.isEmpty {
            // Every request waits for the lock.
            shared.userRates.withLock { $0.take(elsewhere: left.prefix(Self.usesAtATime), nowMilliseconds: now) }
            left = left.dropFirst(Self.usesAtATime)
        }
    }

    private static let usesAtATime = 64

    /// Nothing is heard of a shard's leader, but the connection to it has not ended: it is asked nothing.
    public func onLeaderSuspected(_ notice: ShardNotice, of node: NodeID) {
        onEachLane { $0.onLeaderSuspected(notice, of: node) }
    }

    /// A leader that was suspected is heard again, in the same term.
    public func onLeaderConfirmed(_ notice: ShardNotice, of node: NodeID) {
        onEachLane { $0.onLeaderConfirmed(notice, of: node) }
    }

    /// A node leads a shard (nil: any) no more, or can't be reached.
    public func onLeaderLost(_ node: NodeID, _ shard: ShardID? = nil) {
        onEachLane { $0.onLeaderLost(node, shard) }
    }

    private func onEachLane(_ body: @escaping @Sendable (GatewayLane) -> Void) {
        for lane in shared.lanes.withLock({ $0 }) {
            if lane.loop.isOnLoop { body(lane.value) } else { lane.loop.execute { body(lane.value) } }
        }
    }
}
