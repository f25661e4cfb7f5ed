import ChatModel
import EventLoop
import Moderation
import RoomLink
import SessionCore
import Sharding
import Synchronization
import TLS
import Telemetry

/// What all lanes of a node share. Nothing in it is touched on the delivery path but counters.
final class GatewayShared: Sendable {
    let router: any RoomRouter
    let elsewhere: any SessionsElsewhere
    let shardMap: ShardMap
    let verifier: any TokenVerifier
    let directory = SessionDirectory()
    let budget: ConnectionBudget
    let admission: AdmissionControl
    let figures: GatewayFigures
    let now: @Sendable () -> Timestamp
    /// Of new connections; nil serves them without TLS.
    private let context: Mutex<TLSContext?>
    /// What barrage is moderated by.
    private let wordFilter = Mutex(WordFilter())
    /// The lanes, once they exist; written once at start-up.
    let lanes = Mutex<[LoopBound<GatewayLane>]>([])

    init(
        configuration: GatewayConfiguration, router: any RoomRouter, elsewhere: any SessionsElsewhere,
        shardMap: ShardMap,
        verifier: any TokenVerifier, metrics: MetricsRegistry, tls: TLSContext?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.router = router
        self.elsewhere = elsewhere
        self.shardMap = shardMap
        self.verifier = verifier
        self.now = now
        context = Mutex(tls)
        budget = ConnectionBudget(configuration.connections)
        admission = AdmissionControl(configuration.admission)
        figures = GatewayFigures(metrics: metrics)
        let directory = directory
        metrics.gauge("chatroom_sessions", "Sessions on this node, those in their grace included.") {
            Double(directory.count)
        }
        let budget = budget
        metrics.gauge("chatroom_connections", "Open client connections of this node.") { Double(budget.total) }
    }

    var words: WordFilter { wordFilter.withLock { $0 } }

    /// For lanes that begin; those that run have their own.
    func set(words: WordFilter) { wordFilter.withLock { $0 = words } }

    var tls: TLSContext? { context.withLock { $0 } }

    /// Puts a new certificate in the place of the old one.
    func renew(_ tls: TLSContext) { context.withLock { if $0 != nil { $0 = tls } } }
}

/// The gateway's figures.
struct GatewayFigures: Sendable {
    let droppedMessages: Counter
    let droppedBarrage: Counter
    let shedSessions: Counter
    let refusedTokens: Counter
    let handshakesPutOff: Counter
    let connectsPutOff: Counter
    let entersPutOff: Counter
    let malformed: Counter
    let queueBytes: Counter
    let slowSessions: Counter
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
        shedSessions = metrics.counter("chatroom_slow_sessions_total", "How often a slow session lost frames.")
        queueBytes = metrics.gauge(
            "chatroom_send_queue_bytes", "Bytes that wait for slow clients; looked at once a second.")
        slowSessions = metrics.gauge(
            "chatroom_slow_sessions", "Connections whose send queue is over half full; looked at once a second.")
        deliver = metrics.durations(
            "chatroom_deliver_seconds", "From a message's stamp until it was written to the viewers of a loop.")
        fanOutNanoseconds = metrics.seconds(
            "chatroom_fan_out_cpu_seconds_total", "CPU time spent on writing to the viewers of rooms.")
        refusedTokens = metrics.counter("chatroom_token_refused_total", "Tokens refused at connect and refresh.")
        func putOff(_ step: String) -> Counter {
            metrics.counter(
                "chatroom_admission_put_off_total", "Newcomers who were told to come again later, by step.",
                labels: [("step", step)])
        }
        handshakesPutOff = putOff("handshake")
        connectsPutOff = putOff("connect")
        entersPutOff = putOff("enter")
        malformed = metrics.counter("chatroom_malformed_total", "Client frames that could not be understood.")
    }

    func dropped(_ traffic: FrameTraffic, count: Int) {
        switch traffic {
        case .messages: droppedMessages.add(count)
        case .barrage, .status: droppedBarrage.add(count)
        case .reply: break
        }
    }
}
