import ChatModel
import EventLoop
import Logging
import Moderation
import RoomProtocol
import SessionCore
import ShardPlacement
import TLS
import Telemetry
import Transport
import Wire

/// Everything of the gateway that lives on one loop: its listener, connections, sessions and hubs. No locks and no
/// hops: a publication is handed over once per turn, and from there on all is on this loop.
final class GatewayLane {
    let number: Int
    let loop: EventLoop
    private(set) var configuration: GatewayConfiguration
    let shared: GatewayShared
    let logger: Logger

    var listener: TCPListener?
    /// The URLs that clients are told to connect to.
    var gateways: [String] = []
    /// The URLs of this node among them.
    private(set) var ownGateways: [String] = []
    var origins: OriginPolicy
    /// When a refused origin was last logged, 0 for never, and how many were not since.
    var refusedOriginsToldAt: UInt64 = 0
    var refusedOriginsUntold = 0
    private var nextConnectionNumber: UInt64 = 0
    var connections: [UInt64: ClientConnection] = [:]
    var sessions: [SessionID: LaneSession] = [:]
    var hubs: [RoomID: Hub] = [:]
    /// Connections with something to write at the end of this turn.
    var dirty: ContiguousArray<ClientConnection> = []
    /// Connections that brought more than their share in this turn; read again in the next.
    private var throttled: [ClientConnection] = []
    /// Connections that are not read until they have paid for what they have brought compressed.
    private var overdrawn: [ClientConnection] = []
    /// The bytes that all connections hold, and who has to give them up.
    let buffers = LaneBuffers()
    var relief = Relief()
    /// The bytes that sockets were given in this turn.
    var sentBytes = 0
    /// Messages, and items of barrage, times the viewers that they were handed to in this turn.
    var deliveredMessages = 0
    var deliveredBarrage = 0
    /// Connections that lack some of the compressed stream that they read.
    var behind: [ClientConnection] = []
    /// Audiences that have frames to give.
    var active: ContiguousArray<Audience> = []
    /// Makes a turn when the first audience that waits for more may go on.
    var windowTimer: LoopTimer?
    /// When what is due, and the time for which the lane has listened.
    var agenda = LaneAgenda()
    var isLookingAtDue = false
    var listening: ListeningTime
    /// Connections for which bytes wait, in the order in which they began to.
    var waiting: ContiguousArray<ClientConnection> = []
    /// The look at them that is under way.
    var round = Round()
    /// The calls of this turn to rooms.
    private var calls: [RoomRequest] = []
    /// Calls that rooms have not answered, and the leaders of these.
    var open = OpenRequests()
    /// Rooms that have been told what their viewers were shown.
    var awaited = AwaitedStreams()
    var away = AwayLeaders()
    /// The rooms of each session, to be compared with what their leaders believe.
    var roster = LaneRoster()
    var watch = StreamWatch()
    /// Sessions that the leader whose words are being performed does not know, by room.
    var unknown: [RoomID: Set<SessionID>] = [:]
    /// The missed messages of the answers to enters that come next.
    var missed = HeardMissed()
    /// Sessions that other nodes were given lately, oldest first.
    var handedOver = Fifo<HandedOver>()
    /// The rooms of sessions that ended lately, oldest first.
    var ended = Fifo<EndedStay>()
    /// When the leaders of shards were heard last.
    var pulsedAt: [ShardID: UInt64] = [:]
    /// nil: nothing is compressed.
    let compression: LaneCompression?
    /// Rooms with windows of barrage that their leaders have not answered, in the order in which they began to.
    var sifting: [Hub] = []
    /// Names the windows of taps that this lane has counted, so that none of another life is taken for them.
    let life = UInt64.random(in: 1 ... .max)
    var lastTapWindow: UInt64 = 0
    /// Rooms with taps that are not settled.
    var taps: [RoomID: TapIntake] = [:]
    /// Requests that wait for their windows.
    var waitingTaps = 0
    /// The words by which barrage is moderated.
    var words: WordFilter
    var isDraining = false
    /// Why the node takes nobody new, but for its stop: it does not hear its cluster, so tokens could have been revoked and
    /// rooms changed without its knowing, or its clock would misjudge tokens.
    var refusalOfNewcomers: String?
    /// Connections over the limit that are being told so.
    private var refusing = 0
    private static let refusingMax = 256
    /// How many turns there were: a connection's share is of one turn.
    private(set) var turn: UInt64 = 0
    private let tlsOutput = TLSOutput()

    init(
        number: Int, loop: EventLoop, configuration: GatewayConfiguration, shared: GatewayShared,
        logger: Logger
    ) {
        self.number = number
        self.loop = loop
        self.configuration = configuration
        self.shared = shared
        words = shared.words
        origins = OriginPolicy(
            allowed: configuration.allowedOrigins,
            isOnLoopback: configuration.isOnLoopback)
        compression = configuration.isCompressing ? LaneCompression() : nil
        listening = ListeningTime(nowMilliseconds: 0)
        self.logger = logger
    }

    // MARK: - Life

    /// Puts other limits in force, for the sessions that are here too.
    func adoptLimits(of other: GatewayConfiguration) {
        configuration.adoptLimits(of: other)
        for session in sessions.values { session.state.set(configuration.rateLimits) }
    }

    /// Binds the port and begins to accept. Returns the port.
    func start(port: Int) throws(TransportError) -> Int {
        loop.addTurnEnd(.route) { [unowned self] in routeCalls() }
        loop.addTurnEnd(.flush) { [unowned self] in flush() }
        let listener = try TCPListener(loop: loop, host: configuration.host, port: port, reusePort: true) {
            [unowned self] in accept($0)
        }
        self.listener = listener
        ownGateways = configuration.urls(port: listener.port, isSecure: shared.tls != nil)
        gateways = ownGateways
        origins.use(gateways: ownGateways)
        listening = ListeningTime(nowMilliseconds: loop.nowMilliseconds)
        loop.every(milliseconds: ListeningTime.tickMilliseconds) { [unowned self] in beginRound() }
        loop.every(milliseconds: 1_000) { [unowned self] in watchLeaders() }
        loop.every(milliseconds: 100) { [unowned self] in
            lookAtDue()
            readOverdrawn()
            giveUpHeldCalls()
            askOverdueAgain()
            publishAwayLeaders(at: loop.nowMilliseconds)
            watchTaps()
        }
        return listener.port
    }

    /// Stops accepting and closes every connection.
    /// - Parameter isTold: whether clients were told before where to go; else they are told now.
    func stop(isTold: Bool) {
        isDraining = true
        listener?.close()
        listener = nil
        for connection in connections.values {
            guard case .open = connection.phase else {
                connection.cut()
                continue
            }
            if !isTold { askToReconnect(connection, .drain) }
            connection.close(.draining, "this node is stopping")
        }
    }

    /// Sends every client elsewhere. Clients that come again are taken as soon as the node hears its cluster.
    func sendAllAway(endingSessions: Bool) {
        for connection in connections.values {
            guard case .open = connection.phase else { continue }
            askToReconnect(connection, .full)
            connection.close(.draining, "this node is cut off from its cluster")
            if endingSessions { detach(connection) }
        }
        guard endingSessions else { return }
        for session in Array(sessions.values) where session.connection == nil { end(session) }
    }

    /// - Parameter waitMs: when there is a place for it; nil while nobody knows.
    func askToReconnect(_ connection: ClientConnection, _ cause: ReconnectCause, waitMs: Int64? = nil) {
        var reconnect = ReconnectPush(
            minMs: 500, maxMs: 8000, cause: cause, gateways: gatewaysElsewhere(connection.number))
        if let waitMs {
            // Each is told another time, so the window only has to blur them.
            reconnect.minMs = max(reconnect.minMs, waitMs)
            reconnect.maxMs = reconnect.minMs + max(500, waitMs / 4)
        }
        connection.push(.reconnect(reconnect))
    }

    /// Those of other nodes: this one is full, or goes. Each client gets another one first, since all take the first.
    func gatewaysElsewhere(_ number: UInt64) -> [String] {
        let others = gateways.filter { !ownGateways.contains($0) }
        guard !others.isEmpty else { return gateways }
        let first = Int(number % UInt64(others.count))
        return Array(others[first...] + others[..<first])
    }

    /// Closes without waiting for clients any more.
    func cutAll() {
        for connection in connections.values { connection.cut() }
    }

    private func accept(_ tcp: TCPConnection) {
        guard let peer = IPAddress(tcp.remoteAddress), secure(tcp) else { return tcp.close() }
        nextConnectionNumber += 1
        let connection = ClientConnection(number: nextConnectionNumber, tcp: tcp, lane: self, address: peer)
        connections[connection.number] = connection
        tcp.handler = connection
        plan(connection)
        connection.places.isOfNode = shared.budget.takeConnection()
        if !connection.places.isOfNode {
            noteFullNode()
            refuse(connection, .full)
        } else if !shared.admission.take(.handshake, nowMilliseconds: loop.nowMilliseconds) {
            refuse(connection, .tooFast)
        }
        // A proxy's clients are told apart by what it says in the request.
        if !proxies.contains(peer) { claim(peer, for: connection) }
        tcp.startReading()
    }

    var proxies: TrustedProxies { TrustedProxies(ranges: configuration.trustedProxies) }

    /// Begins TLS, where it is configured. False when there is no memory for it.
    private func secure(_ tcp: TCPConnection) -> Bool {
        guard let context = shared.tls else { return true }
        do throws(TLSError) {
            try tcp.secure(with: context, output: tlsOutput)
            return true
        } catch {
            logger.error("a connection gets no TLS", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Counts a connection for the address that it comes from.
    func claim(_ address: IPAddress, for connection: ClientConnection) {
        connection.address = address
        if shared.budget.take(address) {
            connection.places.holder = address.holder
        } else {
            noteFull(address)
            refuse(connection, .addressFull)
        }
    }

    /// One line for each time that the node is full, and not one for each client.
    private func noteFullNode() {
        guard shared.budget.noteFullNode(nowMilliseconds: loop.nowMilliseconds) else { return }
        logger.warning(
            "the node has all connections that it may have",
            metadata: ["limit": "\(shared.budget.connectionsMax)"])
    }

    /// One address with that many connections is more often a proxy than somebody greedy.
    private func noteFull(_ address: IPAddress) {
        guard shared.budget.noteRefusal() else { return }
        logger.warning(
            "an address has all connections that one may have; if it is a proxy, put it into trustedProxies",
            metadata: ["address": "\(address)", "limit": "\(configuration.connections.perAddressMax)"])
    }

    /// There is no place for this connection. It is told so when its handshake is done, as far as that costs little: a
    /// browser shows its page no other answer. Beyond that it is just cut, and comes again when it likes.
    private func refuse(_ connection: ClientConnection, _ reason: ClientConnection.NoPlace) {
        guard connection.noPlace == nil else { return }
        connection.noPlace = reason
        switch reason {
        case .full: shared.figures.nodePutOff.add()
        case .addressFull: shared.figures.addressPutOff.add()
        case .tooFast: shared.figures.handshakesPutOff.add()
        }
        refusing += 1
        if refusing > Self.refusingMax { connection.cut() }
    }

    /// Sends a client away, to come back when there is a place.
    func turnAway(_ connection: ClientConnection, _ reason: String, waitMs: Int64? = nil) {
        askToReconnect(connection, .full, waitMs: waitMs)
        connection.close(.connectionLimit, reason)
    }

    /// Sends a client away for which the node had no place when it came.
    func turnAway(_ connection: ClientConnection, _ reason: ClientConnection.NoPlace) {
        switch reason {
        case .full, .addressFull: turnAway(connection, "too many connections")
        case .tooFast:
            turnAway(
                connection, "too many clients come at once",
                waitMs: shared.admission.wait(.handshake, nowMilliseconds: loop.nowMilliseconds))
        }
    }

    func didClose(_ connection: ClientConnection) {
        guard connections.removeValue(forKey: connection.number) != nil else { return }
        agenda.forget(connection.number)
        if connection.noPlace != nil { refusing -= 1 }
        if connection.places.isOfNode { shared.budget.giveConnection() }
        if let holder = connection.places.holder { shared.budget.give(holder) }
        shared.figures.closed(connection.closeCode)
        detach(connection)
    }

    /// The connection is no viewer any more; its session begins its grace.
    func detach(_ connection: ClientConnection) {
        connection.login.onClose()
        for room in Array(connection.views.keys) { stopViewing(room, connection) }
        if let user = connection.places.user {
            connection.places.user = nil
            shared.budget.give(user)
        }
        guard let session = connection.session else { return }
        connection.session = nil
        session.connection = nil
        let heardAt = connection.heartbeat.heardAtMilliseconds
        perform(session.state.onDisconnect(heardAt: heardAt, nowMilliseconds: loop.nowMilliseconds), of: session)
        planGrace(of: session)
    }

    func stopViewing(_ room: RoomID, _ connection: ClientConnection) {
        guard let hub = hubs[room] else { return }
        hub.remove(connection)
        guard hub.isEmpty else { return }
        endWindow(of: hub)
        hubs[room] = nil
    }

    // MARK: - The turn

    func call(_ call: RoomRequest) { calls.append(call) }

    private func routeCalls() {
        turn &+= 1
        if !throttled.isEmpty { readThrottled() }
        guard !calls.isEmpty else { return }
        let batch = calls
        calls = []
        ask(batch)
    }

    /// Those that wait go on, a share per turn; who brings too much again waits behind them.
    private func readThrottled() {
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        let due = throttled
        throttled.removeAll(keepingCapacity: true)
        var index = 0
        repeat {
            due[index].isThrottled = false
            due[index].continueReading()
            index += 1
        } while index < due.count && EventLoop.nowNanoseconds < end
        throttled.insert(contentsOf: due[index...], at: 0)
        // Bytes that wait here are no reason for a turn by themselves.
        if !throttled.isEmpty { loop.executeLater {} }
    }

    /// At the end of a turn reading is for the next.
    func continueReadingLater(_ connection: ClientConnection) {
        throttle(connection)
        loop.executeLater {}
    }

    /// A full bucket for a connection that has brought nothing compressed yet.
    var inflationBucket: TokenBucket {
        TokenBucket(
            ratePerSecond: configuration.inflatedBytesPerSecond, burst: configuration.inflatedBytesBurst,
            nowMilliseconds: loop.nowMilliseconds)
    }

    func readLater(overdrawn connection: ClientConnection) { overdrawn.append(connection) }

    /// Ten times a second: those that have paid go on, as others do that had to wait.
    private func readOverdrawn() {
        guard !overdrawn.isEmpty else { return }
        overdrawn.removeAll { connection in
            guard connection.phase.isEnding || !connection.owesInflation() else { return false }
            connection.isOverdrawn = false
            if !connection.phase.isEnding { continueReadingLater(connection) }
            return true
        }
    }

    func throttle(_ connection: ClientConnection) {
        connection.pauseReading()
        guard !connection.isThrottled else { return }
        connection.isThrottled = true
        throttled.append(connection)
    }

    /// Joins several small frames into one write.
    func gather(from queue: inout SendQueue<LaneFrame>) -> [UInt8] {
        var bytes: [UInt8] = []
        while let next = queue.first, bytes.isEmpty || bytes.count + next.byteCount <= FramePieces.bytesMax {
            next.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
            _ = queue.popFirst()
        }
        return bytes
    }

    // MARK: - Losses

    func noteDropped(_ frame: LaneFrame) {
        if let room = frame.room { hubs[room]?.noteDropped(frame) }
        shared.figures.dropped(
            frame.traffic, count: max(1, frame.messageCount + frame.shownBarrageCount))
    }

    /// Those that lack some of a room's compressed stream read it no further. Before anything more of it is shown: until
    /// then they are given nothing of rooms, because a loss that is not told comes first.
    func regroup() {
        guard !behind.isEmpty else { return }
        for connection in exchange(&behind, with: []) {
            connection.followed?.isBehind = false
            if let room = connection.followed?.room { hubs[room]?.fallBehind(connection) }
        }
    }

    func noteShed(_ session: LaneSession) { shared.figures.shedSessions.add() }

    /// Tells a session that keeps up again what it was not given, and present totals in place of those.
    func sendLosses(of session: LaneSession) {
        guard let connection = session.connection else { return }
        if !session.state.losses.isEmpty {
            for push in session.state.takeLosses() { connection.push(push) }
        }
        guard !session.state.losses.withoutTotals.isEmpty else { return }
        for room in session.state.losses.takeTotals() where connection.views[room] != nil {
            if let push = hubs[room]?.totals.push { connection.push(.tallies(push)) }
        }
    }
}
