import ChatModel
import EventLoop
import Moderation
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import TLS
import Telemetry
import Wire

/// The state that all lanes of a node share. Nothing in it is touched on the delivery path but counters.
final class GatewayShared: Sendable {
    let router: any RoomRouter
    let elsewhere: any SessionsElsewhere
    let devices: DeviceWatch
    let shardMap: ShardMap
    let verifier: any TokenVerifier
    let directory: SessionDirectory
    let budget: ConnectionBudget
    let buffers = NodeBuffers()
    let admission: AdmissionControl
    /// The rates of users over all their sessions that this node knows of.
    let userRates: Mutex<UserRates>
    let figures: GatewayFigures
    let now: @Sendable () -> Timestamp
    /// The TLS context of new connections; nil serves them without TLS.
    private let context: Mutex<TLSContext?>
    private let sessionSeal: Mutex<SessionSeal>
    /// The words by which barrage is moderated.
    private let wordFilter = Mutex(WordFilter())
    /// The features that every node of the cluster serves (PROTOCOL.md, "Versions"); read by each `connect`.
    let features = Mutex<[String]>([])
    /// Whether every node of the cluster serves tallies: no other node is told of taps before.
    let takesTaps = Atomic(false)
    /// nil until the node serves it, and where there is none.
    let demo = Mutex<(any DemoService)?>(nil)
    /// Compressed with the gateway's start, and not on a loop by the first request.
    let pages: PageFiles
    /// nil until the node serves it.
    let media = Mutex<(any MediaService)?>(nil)
    /// Transfers of content that are under way.
    let transfers: Counter
    let demoCalls = Mutex(
        TokenBucket(ratePerSecond: DemoDoor.callsPerSecond, burst: DemoDoor.callsAtOnce, nowMilliseconds: 0))
    /// The lanes, once they exist; written once at start-up.
    let lanes = Mutex<[LoopBound<GatewayLane>]>([])

    init(
        configuration: GatewayConfiguration, router: any RoomRouter, elsewhere: any SessionsElsewhere,
        seal: SessionSeal, shardMap: ShardMap, verifier: any TokenVerifier, metrics: MetricsRegistry, tls: TLSContext?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.router = router
        self.elsewhere = elsewhere
        devices = DeviceWatch(node: configuration.node, elsewhere: elsewhere, at: now())
        self.shardMap = shardMap
        self.verifier = verifier
        sessionSeal = Mutex(seal)
        self.now = now
        context = Mutex(tls)
        pages = PageFiles(mediaOrigin: configuration.mediaOrigin)
        budget = ConnectionBudget(configuration.connections)
        admission = AdmissionControl(configuration.admission)
        userRates = Mutex(UserRates(configuration.rateLimits))
        figures = GatewayFigures(metrics: metrics)
        let directory = SessionDirectory(graceSeconds: configuration.graceSeconds)
        self.directory = directory
        metrics.gauge("chatroom_sessions", "Sessions on this node, those in their grace included.") {
            Double(directory.count)
        }
        let buffers = buffers
        metrics.gauge("chatroom_buffer_bytes", "What the buffers of client connections hold.") {
            Double(buffers.bytes)
        }
        transfers = metrics.gauge("chatroom_media_transfers", "Transfers of content that are under way.")
        let budget = budget
        metrics.gauge("chatroom_connections", "Open client connections of this node.") { Double(budget.total) }
        metrics.gauge("chatroom_connections_max", "Client connections that this node may have.") {
            Double(budget.connectionsMax)
        }
    }

    var words: WordFilter { wordFilter.withLock { $0 } }

    /// For lanes that begin; those that run have their own.
    func set(words: WordFilter) { wordFilter.withLock { $0 = words } }

    /// Makes the IDs of sessions, and tells those of this cluster.
    var seal: SessionSeal { sessionSeal.withLock { $0 } }

    func use(_ seal: SessionSeal) { sessionSeal.withLock { $0 = seal } }

    var tls: TLSContext? { context.withLock { $0 } }

    /// Puts a new certificate in the place of the old one.
    func renew(_ tls: TLSContext) { context.withLock { if $0 != nil { $0 = tls } } }
}

/// The gateway's figures.
struct GatewayFigures: Sendable {
    let droppedMessages: Counter
    let droppedBarrage: Counter
    let shedSessions: Counter
    let revivedSessions: Counter
    /// Sends that were answered without a room's leader.
    let unavailableSends: Counter
    let refusedTokens: Counter
    let refusedOrigins: Counter
    let handshakesPutOff: Counter
    let connectsPutOff: Counter
    let entersPutOff: Counter
    /// Those for whom the node, their address or their user has no place left.
    let nodePutOff: Counter
    let addressPutOff: Counter
    let userPutOff: Counter
    let malformed: Counter
    /// Compressed messages before `connect`: those that were one, and those that were given up.
    let inflatedConnects: Counter
    let inflatedRefusals: Counter
    let roomsSaidAnew: Counter
    /// By what viewers were told of a room's leader.
    private let roomStates: [RoomStatus: Counter]
    let queueBytes: Counter
    /// Bytes that the sockets of clients were given, before TLS. Each lane adds its sum at the end of a turn.
    let sentBytes: Counter
    let slowSessions: Counter
    /// Messages, and items of barrage, times the viewers that they were handed to. Each lane adds its
    /// sum at the end of a turn.
    let deliveredMessages: Counter
    let deliveredBarrage: Counter
    let tapsCounted: Counter
    let tapsDropped: Counter
    /// Connections that had to give way.
    let closedForMemory: Counter
    private let closedByCode: [CloseCode: Counter]
    private let closedWithout: Counter
    /// One record for each frame and lane.
    let deliver: DurationHistogram
    /// CPU time of the loops' threads, in nanoseconds.
    let fanOutNanoseconds: Counter

    init(metrics: MetricsRegistry) {
        let help = "What viewers were not given, by class and cause."
        droppedMessages = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "message"), ("cause", "slow")])
        droppedBarrage = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "barrage"), ("cause", "slow")])
        revivedSessions = metrics.counter(
            "chatroom_sessions_revived_total",
            "Sessions that clients went on with here because their holder could not be reached.")
        unavailableSends = metrics.counter(
            "chatroom_sends_total", "Messages by result.", labels: [("result", "unavailable")])
        shedSessions = metrics.counter(
            "chatroom_slow_sessions_total", "How often a session began to lose frames because it was slow.")
        closedForMemory = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "connection"), ("cause", "memory")])
        func closed(_ code: String) -> Counter {
            metrics.counter(
                "chatroom_connections_closed_total", "Client connections that have ended, by this node's close code.",
                labels: [("code", code)])
        }
        closedByCode = Dictionary(
            uniqueKeysWithValues: CloseCode.allCases.map { ($0, closed("\($0.rawValue)")) })
        closedWithout = closed("none")
        queueBytes = metrics.gauge(
            "chatroom_send_queue_bytes", "Bytes that wait for slow clients; looked at once a second.")
        sentBytes = metrics.counter(
            "chatroom_sent_bytes_total", "Bytes written to client connections, before TLS.")
        slowSessions = metrics.gauge(
            "chatroom_slow_sessions",
            "Connections whose send queue is over half full, or with losses to be told; looked at once a second.")
        func delivered(_ traffic: String) -> Counter {
            metrics.counter(
                "chatroom_deliveries_total",
                "What was handed to viewers, some of it to be dropped later: messages, or items of barrage, times viewers.",
                labels: [("class", traffic)])
        }
        deliveredMessages = delivered("message")
        deliveredBarrage = delivered("barrage")
        func taps(_ result: String) -> Counter {
            metrics.counter(
                "chatroom_taps_total",
                "Taps on tallies that were counted in windows, and those that were refused or dropped.",
                labels: [("result", result)])
        }
        tapsCounted = taps("counted")
        tapsDropped = taps("dropped")
        deliver = metrics.durations(
            "chatroom_deliver_seconds", "From a message's stamp until it was written to the viewers of a loop.")
        fanOutNanoseconds = metrics.seconds(
            "chatroom_fan_out_cpu_seconds_total", "CPU time spent on writing to the viewers of rooms.")
        refusedTokens = metrics.counter("chatroom_token_refused_total", "Tokens refused at connect and refresh.")
        refusedOrigins = metrics.counter(
            "chatroom_origin_refused_total", "Handshakes of pages whose origin may not connect.")
        func putOff(_ step: String) -> Counter {
            metrics.counter(
                "chatroom_admission_put_off_total", "Newcomers who were told to come again later, by step.",
                labels: [("step", step)])
        }
        handshakesPutOff = putOff("handshake")
        connectsPutOff = putOff("connect")
        entersPutOff = putOff("enter")
        nodePutOff = putOff("connections")
        addressPutOff = putOff("address")
        userPutOff = putOff("user")
        roomsSaidAnew = metrics.counter(
            "chatroom_rooms_announced_anew_total",
            "Rooms whose sessions were announced to their leader once more, because something had got lost.")
        roomStates = Dictionary(
            uniqueKeysWithValues: RoomStatus.allCases.map { status in
                let counter = metrics.counter(
                    "chatroom_room_states_total",
                    "Rooms whose viewers on a loop were told that the leader is away, is back, or does not come back.",
                    labels: [("state", status.rawValue)])
                return (status, counter)
            })
        malformed = metrics.counter("chatroom_malformed_total", "Client frames that could not be understood.")
        func inflated(_ result: String) -> Counter {
            metrics.counter(
                "chatroom_inflated_before_connect_total",
                "Compressed messages of clients that had not connected, by what was found in them.",
                labels: [("result", result)])
        }
        inflatedConnects = inflated("connect")
        inflatedRefusals = inflated("refused")
    }

    /// - Parameter code: nil without a close frame of this node.
    func closed(_ code: CloseCode?) { (code.flatMap { closedByCode[$0] } ?? closedWithout).add() }

    func told(_ status: RoomStatus) { roomStates[status]?.add() }

    func dropped(_ traffic: FrameTraffic, count: Int) {
        switch traffic {
        case .messages: droppedMessages.add(count)
        case .barrage, .status, .totals: droppedBarrage.add(count)
        case .reply: break
        }
    }
}
