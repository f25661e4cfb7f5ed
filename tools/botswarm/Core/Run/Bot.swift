import ChatModel
import EventLoop
import HTTPWebSocket
import Transport
import Synchronization
import Wire

/// One bot: a user or an anonymous client in one room, over one WebSocket, and over two while it moves. Lives on its
/// lane's loop.
///
/// It behaves as the protocol asks of clients: it takes its session with it when it comes back or moves, resumes with
/// `since` and `epoch`, repeats what was not acked with the same `clientId`, and fetches what a SLOW gap names. All that it
/// sees goes to the room's ledger, which judges it.
final class Bot: ConnectionHandler {
    /// The life of a bot.
    enum Phase {
        /// Not started. Can transition to: `connecting`.
        case idle
        /// A TCP connection is being made. Can transition to: `handshake`, `waiting`.
        case connecting
        /// The HTTP upgrade. Can transition to: `entering`, `waiting`.
        case handshake(WebSocketClientHandshake)
        /// WebSocket, with `connect` or `enter` under way. Can transition to: `here`, `outside`, `waiting`, `stopped`.
        case entering
        /// In the room. Can transition to: `entering`, `outside`, `waiting`, `stopped`.
        case here
        /// Connected, and not in the room: it has left, or was put out. Can transition to: `entering`, `waiting`,
        /// `stopped`.
        case outside
        /// Not connected until a timer ends. Can transition to: `connecting`.
        case waiting
        /// Does not come back. Final.
        case stopped
    }

    /// The purpose of an answer.
    enum Pending {
        case connect
        case refresh
        case enter(since: UInt64?, askedAt: SwarmInstant)
        case exit(returnMilliseconds: UInt64)
        case ping
        case message(n: Int)
        case barrage(n: Int)
        case catchUp(ClosedRange<UInt64>)
        case fetch(ClosedRange<UInt64>)
        case auditEnd
        case audit(ClosedRange<UInt64>)
        case online
        case queueRead(isFinal: Bool)
        case seat(SeatAsk)
        case moderation(ModerationAsk)
    }

    /// A message that has not been answered yet.
    struct Unanswered {
        let kind: SentKind
        let sentAt: SwarmInstant
        /// The bot's place in the stream then.
        let from: UInt64
        /// It was sent more than once.
        var isRepeated = false
    }

    /// Since when and why a bot is not in its room.
    struct Away {
        enum Cause { case left, dropped, unknown }
        let since: SwarmInstant
        let from: UInt64
        let cause: Cause
    }

    let id: BotID
    let user: UserID
    let isAnonymous: Bool
    /// Whether it is slow in stages that have slow ones.
    let isSlow: Bool
    let isManager: Bool
    let book: RoomBook
    let viewer: RoomLedger.Viewer
    unowned let lane: SwarmLane

    var phase = Phase.idle
    var phaseSince: SwarmInstant
    var pending: [UInt32: Pending] = [:]
    var unanswered: [Int: Unanswered] = [:]
    var messagePacer: Pacer?
    var barragePacer: Pacer?
    /// Sanctions that a manager has to lift in the end.
    var lifts: [ModerationAsk] = []
    var seatNumber = 0
    var hasReadQueue = false
    var away: Away?
    /// How long a drop on purpose lasts.
    var absenceMilliseconds: UInt64?
    private var firstTry: SwarmInstant?
    var session: SessionID?
    var epoch: String?
    var backoff: Backoff
    /// Ranges of SLOW gaps that wait to be fetched.
    var fetches: [ClosedRange<UInt64>] = []
    /// Ranges of SLOW gaps whose random delay is running.
    var delayedFetches = 0
    var isFetching = false
    var isAuditing = false
    var refusedTokens = 0
    var heartbeatSeconds: Int64 = 15
    var lastHeard: SwarmInstant
    private(set) var tcp: TCPConnection?
    /// The connection that is to follow on `tcp`, while the bot moves.
    var successor: Successor?
    /// Counts connections, so that a timer of an earlier one does nothing.
    private(set) var connectionNumber = 0
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
    private var nextRequestID: UInt32 = 0
    private var out: [UInt8] = []
    private var isDirty = false
    private(set) var isStalled = false
    private var closeCode: UInt16?
    /// Whether the end of this connection drops no session unawares: it has none yet, the node has sent the bot away,
    /// or the bot ends it itself.
    var isEndExpected = true
    private var lastPing = SwarmInstant(nanoseconds: 0)

    /// A page of history holds up to 100 messages of 32 KB.
    static let messageBytesMax = 16 << 20
    /// A sender waits while more than this is unwritten.
    static let outBytesMax = 1 << 20

    init(
        id: BotID, user: UserID, book: RoomBook, viewer: RoomLedger.Viewer, lane: SwarmLane
    ) {
        self.id = id
        self.user = user
        self.book = book
        self.viewer = viewer
        self.lane = lane
        isAnonymous = lane.scenario.isAnonymous(id)
        isSlow = lane.scenario.isSlow(id)
        isManager = lane.scenario.isManager(id)
        backoff = Backoff(maxMilliseconds: lane.scenario.reconnectMaxMilliseconds)
        phaseSince = lane.clock.now
        lastHeard = phaseSince
    }

    var isHere: Bool { if case .here = phase { true } else { false } }
    var isStopped: Bool { if case .stopped = phase { true } else { false } }
    /// On its way into the room.
    var isEntering: Bool {
        switch phase {
        case .connecting, .handshake, .entering: true
        case .idle, .here, .outside, .waiting, .stopped: false
        }
    }

    func move(to new: Phase) {
        let wasHere = isHere
        phase = new
        phaseSince = lane.clock.now
        if isHere != wasHere { lane.counters.here += isHere ? 1 : -1 }
        if isStopped { lane.counters.stopped += 1 }
    }

    // MARK: - Connection

    func connect() {
        guard !isStopped else { return }
        move(to: .connecting)
        if firstTry == nil { firstTry = phaseSince }
        connectionNumber += 1
        let number = connectionNumber
        dial(number) { [weak self] result, address in
            guard let self, case .connecting = phase, number == connectionNumber else {
                if case .success(let connection) = result { connection.close() }
                return
            }
            switch result {
            case .success(let connection): opened(connection, address)
            case .failure(let error):
                lane.note(failure: error.message)
                waitAndConnect()
            }
        }
    }

    /// Connects to the node whose turn that number is.
    func dial(_ number: Int, _ done: @escaping (Result<TCPConnection, TransportError>, WebSocketAddress) -> Void) {
        let (address, source) = lane.nextRoute(for: self, number)
        lane.counters.connects += 1
        TCPConnection.connect(
            loop: lane.loop, host: address.host, port: address.port, localAddress: source,
            receiveLimits: isSlow ? Self.slowReceiving : nil
        ) { done($0, address) }
    }

    private func use(_ connection: TCPConnection) {
        tcp = connection
        connection.handler = self
        decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Self.messageBytesMax)
        out = []
        closeCode = nil
        isEndExpected = true
        isStalled = false
        lastHeard = lane.clock.now
    }

    /// Goes on over another connection, which is open, as far as WebSocket is concerned.
    /// - Parameter rest: the bytes that came behind its handshake.
    func resume(over next: TCPConnection, number: Int, rest: UnsafeRawBufferPointer) {
        let former = tcp
        noteAway(.dropped)
        forgetConnection()
        connectionNumber = number
        lane.counters.moved += 1
        use(next)
        former?.close()
        begin()
        if !rest.isEmpty { readFrames(rest) }
    }

    private func opened(_ connection: TCPConnection, _ address: WebSocketAddress) {
        use(connection)
        let handshake = WebSocketClientHandshake(nonce: lane.randomBytes(16), subprotocols: [Self.subprotocol])
        out += handshake.request(host: address.authority, target: address.target)
        move(to: .handshake(handshake))
        markDirty()
        connection.startReading()
    }

    /// Ends the connection from this side; the bot comes back.
    func drop() {
        if closeCode == nil { isEndExpected = true }
        tcp?.close()
    }

    /// Reads nothing for a while, as a client on a bad network.
    func stall(milliseconds: UInt64) {
        guard isHere, !isStalled else { return }
        stopReading()
        after(milliseconds: milliseconds) { [weak self] in self?.readOn() }
    }

    /// Reads nothing until ``readOn()``.
    func stopReading() {
        guard !isStalled else { return }
        isStalled = true
        tcp?.stopReading()
    }

    func readOn() {
        guard isStalled else { return }
        isStalled = false
        lastHeard = lane.clock.now
        tcp?.startReading()
    }

    /// The bot came in: what came before it is over.
    func noteArrival() {
        lane.counters.entered += 1
        if let firstTry, book.ledger.withLock({ $0.book(of: viewer).stay }) == .never {
            lane.latencies.note(.arrival, lane.readTime.microseconds(since: firstTry))
        } else if let away, away.cause == .dropped, absenceMilliseconds == nil {
            lane.latencies.note(.comeback, lane.readTime.microseconds(since: away.since))
        }
    }

    /// The bot is not in its room any more.
    func noteAway(_ cause: Away.Cause) {
        guard away == nil else { return }
        let position = book.ledger.withLock { $0.book(of: viewer).position }
        away = Away(since: lane.clock.now, from: position, cause: cause)
    }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        if let successor, connection === successor.connection { return read(bytes, from: successor) }
        guard connection === tcp else { return }
        lane.readTime = lane.clock.now
        lane.counters.bytesIn += UInt64(bytes.count)
        lastHeard = lane.readTime
        if case .handshake(var handshake) = phase {
            switch handshake.parse(bytes) {
            case .needsMore: phase = .handshake(handshake)
            case .failure(_, let error):
                lane.note(failure: error.message)
                drop()
            case .open(_, let rest):
                begin()
                if rest > 0 { readFrames(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])) }
            }
        } else {
            readFrames(bytes)
        }
    }

    private func readFrames(_ bytes: UnsafeRawBufferPointer) {
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .text(let text):
                for item in lane.frames.items(of: text) { handle(item) }
            case .binary: noteMalformed("a binary frame")
            case .ping(let payload): answerPing(payload)
            // Not negotiated.
            case .compressed: break
            case .pong: break
            case .close(let code, let reason): closed(code, reason)
            }
        }
        if let failure {
            noteMalformed(failure.message)
            drop()
        }
    }

    private func answerPing(_ payload: UnsafeRawBufferPointer) {
        WebSocketFrameEncoder.append(.pong, payload, mask: lane.randomBytes(4), to: &out)
        markDirty()
    }

    private func closed(_ code: UInt16?, _ reason: String) {
        closeCode = code ?? 1005
        switch CloseAdvice(closeCode: code) {
        case .reconnect: break
        case .renewToken:
            refusedTokens += 1
            if refusedTokens >= Self.refusedTokensMax { stop("its token is refused: \(reason)") }
        case .stop: stop("its connection was closed with \(code ?? 1005): \(reason)")
        }
        drop()
    }

    func connectionDidDrain(_ connection: TCPConnection) { flush() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        if let successor, connection === successor.connection { return successorFailed() }
        guard connection === tcp else { return }
        endMoving()
        tcp = nil
        lane.counters.closes[Int(closeCode ?? 0), default: 0] += 1
        if isHere {
            let isLeaving = pending.values.contains { if case .exit = $0 { true } else { false } }
            noteAway(isLeaving ? .unknown : .dropped)
        }
        if let error, closeCode == nil { lane.note(failure: error.message) }
        if !isEndExpected { lane.counters.unannounced += 1 }
        forgetConnection()
        guard !isStopped else { return }
        lane.counters.reconnects += 1
        waitAndConnect()
    }

    /// Nothing that was asked on the lost connection will be answered.
    private func forgetConnection() {
        book.ledger.withLock { $0.disconnect(viewer) }
        for request in pending.values { giveUp(request) }
        pending = [:]
        fetches = []
        isFetching = false
        isAuditing = false
        out = []
    }

    private func waitAndConnect() {
        move(to: .waiting)
        let number = connectionNumber
        let wait = absenceMilliseconds ?? backoff.next(using: &lane.random)
        lane.loop.schedule(afterMilliseconds: wait) { [weak self] in
            guard let self, case .waiting = phase, number == connectionNumber else { return }
            connect()
        }
    }

    /// Calls `work` unless the connection was lost meanwhile.
    func after(milliseconds: UInt64, _ work: @escaping () -> Void) {
        let number = connectionNumber
        lane.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, number == connectionNumber, tcp != nil, !isStopped else { return }
            work()
        }
    }

    /// The bot does not come back, and that is a finding.
    func stop(_ reason: String) {
        guard !isStopped else { return }
        endMoving()
        book.ledger.withLock { $0.expel(viewer, reason) }
        move(to: .stopped)
        drop()
    }

    /// The run is over: says goodbye.
    func leave() {
        endMoving()
        move(to: .stopped)
        guard let tcp else { return }
        out += WebSocketFrameEncoder.close(code: 1000, reason: "", mask: lane.randomBytes(4))
        flush()
        tcp.shutdownThenClose(withinMilliseconds: 500)
    }

    func noteMalformed(_ text: String) {
        book.ledger.withLock { $0.noteMalformed(viewer, text) }
    }

    /// Called about once a second: ends connections that are stuck.
    func tick(_ now: SwarmInstant) {
        switch phase {
        case .idle, .waiting, .stopped: return
        case .connecting: return
        case .handshake, .entering:
            if now.microseconds(since: phaseSince) > Self.entryMicrosecondsMax {
                lane.note(failure: "no answer to the handshake, connect or enter within 20 s")
                drop()
            }
        case .here, .outside:
            // A bot that reads nothing still says that it is there.
            if isStalled, now.microseconds(since: lastPing) > Self.pingMicroseconds {
                lastPing = now
                request(.ping, .ping)
            }
        }
        // A server that keeps the protocol pings in every heartbeat.
        let silence = UInt64(min(max(heartbeatSeconds, 1), 3_600)) * 2_500_000
        if !isStalled, now.microseconds(since: lastHeard) > silence { drop() }
    }

    // MARK: - Out

    /// Sends a request; its answer comes to `answered`.
    func request(_ operation: ClientOperation, _ purpose: Pending) {
        nextRequestID &+= 1
        if nextRequestID == 0 { nextRequestID = 1 }
        pending[nextRequestID] = purpose
        var json: [UInt8] = []
        ClientRequest(id: nextRequestID, operation: operation).appendJSON(to: &json)
        json.withUnsafeBytes { WebSocketFrameEncoder.append(.text, $0, mask: lane.randomBytes(4), to: &out) }
        markDirty()
    }

    var isFull: Bool { out.count > Self.outBytesMax }

    private func markDirty() {
        guard !isDirty else { return }
        isDirty = true
        lane.dirty.append(self)
    }

    /// Writes what the turn left, in one piece.
    func flush() {
        isDirty = false
        guard let tcp, !tcp.isWriting, !out.isEmpty else { return }
        lane.counters.bytesOut += UInt64(out.count)
        let written = out.withUnsafeBytes { tcp.tryWrite($0) }
        if written < out.count { tcp.write(SharedBytes(copying: out[written...])) }
        out.removeAll(keepingCapacity: out.capacity <= Self.outCapacityKept)
    }

    static let subprotocol = "chatroom.v1.json"
    private static let refusedTokensMax = 3
    private static let entryMicrosecondsMax: UInt64 = 20_000_000
    private static let outCapacityKept = 4_096
    /// A client behind an Ethernet with a small window: what it does not read waits at the server soon.
    private static let slowReceiving = ReceiveLimits(bufferBytes: 16_384, segmentBytes: 1_460)
    /// Well below 2.5 heartbeats, after which a silent client is dropped.
    private static let pingMicroseconds: UInt64 = 10_000_000
}
