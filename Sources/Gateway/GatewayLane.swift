import ChatModel
import EventLoop
import Logging
import Moderation
import RoomProtocol
import SessionCore
import TLS
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
    var nextConnectionNumber: UInt64 = 0
    var connections: [UInt64: ClientConnection] = [:]
    var sessions: [SessionID: LaneSession] = [:]
    var hubs: [RoomID: Hub] = [:]
    /// Connections with something to write at the end of this turn.
    var dirty: ContiguousArray<ClientConnection> = []
    /// Connections that brought more than their share in this turn; read again in the next.
    var throttled: [ClientConnection] = []
    /// Connections that are not read until they have paid for what they have brought compressed.
    var overdrawn: [ClientConnection] = []
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
    var calls: [RoomRequest] = []
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
    var refusing = 0
    static let refusingMax = 256
    /// How many turns there were: a connection's share is of one turn.
    var turn: UInt64 = 0
    let tlsOutput = TLSOutput()

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
}
