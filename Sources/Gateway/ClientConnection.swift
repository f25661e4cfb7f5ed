import ChatModel
import Deflate
import EventLoop
import RoomLink
import SessionCore
import Telemetry
import Transport
import Wire

/// One client's socket on one lane: bytes in, frames out. Lives on its lane's loop and nowhere else.
///
/// Bytes that came are handed to the lane as requests; what is to go out to it alone is appended by `enqueue` and written
/// once at the end of the turn. What rooms show to everybody is written by an `Audience`, which comes here only when
/// something waits already or the socket is full. What the socket does not take waits in `queue`, which is bounded (see
/// `SendQueue`).
final class ClientConnection: ConnectionHandler {
    /// The life of a connection.
    enum Phase {
        /// The HTTP request is being read. Can transition to: `open`, `closing`.
        case handshake(HTTPUpgradeParser)
        /// WebSocket, before or after `connect`. Can transition to: `closing`.
        case open
        /// A close frame has been sent or the socket has failed; nothing more is read. Final.
        case closing
    }

    let number: UInt64
    let tcp: TCPConnection
    unowned let lane: GatewayLane
    var phase = Phase.handshake(HTTPUpgradeParser())
    private var decoder = WebSocketFrameDecoder(role: .server)
    /// What its subprotocol says; fixed by the handshake.
    private(set) var encoding = ClientEncoding.json
    /// Room frames are compressed for it; fixed by the handshake.
    private(set) var isCompressed = false
    /// nil before `connect`.
    var session: Session?
    /// Rooms that this connection views, with its index in each hub.
    var views: [RoomID: Int] = [:]
    /// Requests that wait while a `connect` is being decided; reading has stopped meanwhile.
    var held: [ClientRequest] = []
    var isHolding = false
    /// When it must have connected, in loop time; nil once it has.
    var connectDeadlineMilliseconds: UInt64?
    var heartbeat: Heartbeat
    private var malformedInARow = 0

    /// The one frame that waits in the common case; `queue` is empty then.
    private var pending: LaneFrame?
    private var queue = SendQueue<LaneFrame>()
    /// It is in the lane's list of those to be flushed; nobody writes ahead of that.
    private var isDirty = false {
        didSet { tcp.isHeld = isDirty }
    }
    private var isReading = true
    /// The socket has taken what it had not taken before.
    private var hasDrained = false
    /// Closes as soon as everything queued has been written.
    private var closesWhenDrained = false

    /// What it holds of the limits, to be given back at its end.
    struct Places {
        var isOfNode = false
        var holder: IPRange?
        var user: UserID?
    }

    enum NoPlace {
        /// Of the node, or of its address.
        case full
        /// Too many come at once.
        case tooFast
    }

    /// Where its client is: the peer's address, or what a trusted proxy says of it.
    var address: IPAddress
    var places = Places()
    /// Why it is only told to come again; nil for one that is served.
    var noPlace: NoPlace?

    /// Bytes that came and are not parsed, because the share of the turn was used up.
    private var unparsed: [UInt8] = []
    /// It waits for the next turn with the rest.
    var isThrottled = false
    private var shareTurn: UInt64 = 0
    private var framesLeft = 0
    private var bytesLeft = 0

    init(number: UInt64, tcp: TCPConnection, lane: GatewayLane, address: IPAddress) {
        self.number = number
        self.address = address
        self.tcp = tcp
        self.lane = lane
        let now = lane.loop.nowMilliseconds
        let configuration = lane.configuration
        heartbeat = Heartbeat(
            intervalMilliseconds: UInt64(configuration.heartbeatSeconds) * 1000, nowMilliseconds: now)
        connectDeadlineMilliseconds = now + UInt64(configuration.connectSeconds) * 1000
    }

    // MARK: - In

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        heartbeat.heard(nowMilliseconds: lane.loop.nowMilliseconds)
        switch phase {
        case .handshake: lane.readHandshake(bytes, of: self)
        case .open:
            // Reading has stopped then, but what was read with it (records of TLS) still comes.
            if unparsed.isEmpty { readFrames(bytes) } else { unparsed.append(contentsOf: bytes) }
        case .closing: break
        }
    }

    /// Parses what came, at most this turn's share of it; the rest waits for the next turn.
    func readFrames(_ bytes: UnsafeRawBufferPointer) {
        if shareTurn != lane.turn {
            shareTurn = lane.turn
            framesLeft = lane.configuration.framesPerTurnMax
            bytesLeft = lane.configuration.bytesPerTurnMax
        }
        // A copy: what a frame leads to may look at the share.
        var frames = framesLeft
        let (taken, failure) = decoder.decode(bytes, framesMax: &frames) { event in
            guard case .open = phase else { return }
            switch event {
            case .text(let text): takeText(text)
            case .binary(let message): takeBinary(message)
            case .compressed(let isText, let payload): takeCompressed(payload, isText: isText)
            case .ping(let payload): enqueue(WebSocketFrameEncoder.frame(.pong, payload))
            case .pong: break
            case .close: answerClose()
            }
        }
        if let failure, case .open = phase {
            close(CloseCode(rawValue: failure.closeCode) ?? .protocolError, failure.message)
        }
        guard case .open = phase else { return }
        framesLeft = frames
        bytesLeft -= taken
        if taken < bytes.count { unparsed = Array(bytes[taken...]) }
        if framesLeft == 0 || bytesLeft <= 0 { lane.throttle(self) }
    }

    private func takeText(_ text: UnsafeRawBufferPointer) {
        guard encoding == .json else {
            return close(.unsupportedData, "this subprotocol has binary frames only")
        }
        ClientFrame.requests(inJSON: text, take)
    }

    private func takeBinary(_ message: UnsafeRawBufferPointer) {
        guard encoding == .protobuf else {
            return close(.unsupportedData, "this subprotocol has text frames only")
        }
        ClientFrame.requests(inProtobuf: message, take)
    }

    /// A compressed message becomes no larger than one that comes as it is may be.
    private func takeCompressed(_ payload: UnsafeRawBufferPointer, isText: Bool) {
        guard let inflater = lane.compression?.inflater else {
            return close(.protocolError, "compression was not negotiated")
        }
        do throws(Inflater.Failure) {
            let message = try inflater.inflate(payload, bytesMax: WebSocketFrameDecoder.messageBytesMaxDefault)
            message.withUnsafeBytes { message in
                guard isText else { return takeBinary(message) }
                guard WebSocketFrameDecoder.isText(message) else { return close(.invalidText, "text is not UTF-8") }
                takeText(message)
            }
        } catch {
            switch error {
            case .corrupt: close(.invalidText, "a message that can't be decompressed")
            case .tooBig: close(.tooBig, "message too big")
            }
        }
    }

    /// Goes on in another turn, or when what held it back has gone: first with what waits here.
    func continueReading() {
        guard case .open = phase, mayRead else { return }
        if !unparsed.isEmpty {
            let rest = unparsed
            unparsed = []
            rest.withUnsafeBytes { readFrames($0) }
        }
        if unparsed.isEmpty, shareTurn != lane.turn || framesLeft > 0 && bytesLeft > 0 { resumeReading() }
    }

    /// What waits to be written.
    var waitingBytes: Int { queue.byteCount + (pending?.byteCount ?? 0) }

    private var mayRead: Bool { !isHolding && queue.byteCount < lane.configuration.unreadRepliesBytesMax }

    private func take(_ result: Result<ClientRequest, RequestFailure>) {
        guard case .open = phase else { return }
        switch result {
        case .success(let request):
            malformedInARow = 0
            if isHolding {
                hold(request)
            } else {
                lane.handle(request, from: self)
            }
        case .failure(let failure):
            if failure.error.code == .malformed { lane.shared.figures.malformed.add() }
            if failure.id == nil, failure.error.code == .malformed {
                malformedInARow += 1
            } else {
                malformedInARow = 0
            }
            reply(failure.id, error: failure.error)
            if malformedInARow >= Self.malformedMax { close(.policyViolation, "too many malformed requests") }
        }
    }

    private func hold(_ request: ClientRequest) {
        guard held.count < Self.heldMax else { return close(.policyViolation, "too many requests before connect") }
        held.append(request)
    }

    /// Stops taking requests until `resumeRequests`; those already parsed wait in order.
    func holdRequests() {
        isHolding = true
        pauseReading()
    }

    func resumeRequests() {
        isHolding = false
        while !isHolding, !held.isEmpty {
            guard case .open = phase else { return held.removeAll() }
            lane.handle(held.removeFirst(), from: self)
        }
        continueReading()
    }

    func pauseReading() {
        guard isReading else { return }
        isReading = false
        tcp.stopReading()
    }

    func resumeReading() {
        guard !isReading, mayRead, unparsed.isEmpty else { return }
        guard case .closing = phase else {
            isReading = true
            return tcp.startReading()
        }
    }

    // MARK: - Out

    func reply(_ request: UInt32?, _ result: OperationResult) {
        guard let request else { return }
        enqueue(.reply(id: request, .success(result)))
    }

    func reply(_ request: UInt32?, error: ChatError) {
        enqueue(.reply(id: request, .failure(error)))
    }

    /// Answers an enter with what many have missed.
    /// - Parameter missed: nil when it got lost on its way: then all of it is more, and read from history.
    func reply(_ request: UInt32, _ result: EnterResult, missed: MissedMessages?) {
        guard let encoded = missed?[encoding] else {
            var result = result
            (result.missed, result.missedMore) = ([], true)
            return reply(request, .enter(result))
        }
        enqueue(LaneFrame(result, to: request, missed: encoded, in: encoding))
    }

    func push(_ push: Push) { enqueue(.push(push)) }

    private func enqueue(_ item: ServerItem) { enqueue(LaneFrame(item, in: encoding)) }

    private func enqueue(_ frame: [UInt8]) { enqueue(LaneFrame(reply: SharedBytes(copying: frame))) }

    /// Appends a frame; it is written at the end of the turn.
    func enqueue(_ frame: LaneFrame) {
        if !isDirty {
            isDirty = true
            lane.dirty.append(self)
            if pending == nil, queue.isEmpty, !tcp.isWriting {
                pending = frame
                return
            }
        }
        enqueueBehind(frame)
    }

    private func enqueueBehind(_ frame: LaneFrame) {
        if let first = pending {
            pending = nil
            queue.append(first)
        }
        // Whoever has lost something gets nothing of rooms until the loss has been told, in its place.
        if frame.traffic != .reply, let session, !session.state.losses.isEmpty {
            session.state.losses.note(frame)
            lane.noteDropped(frame)
            return
        }
        queue.append(frame)
    }

    /// Takes frames of a room that a broadcast did not write; of the first of them it wrote `taken` bytes.
    func give(_ frames: ArraySlice<LaneFrame>, taken: Int = 0) {
        var taken = taken
        for frame in frames {
            if taken == 0 {
                enqueue(frame)
            } else if taken < frame.byteCount {
                tcp.write(frame.bytes, from: taken)
                taken = 0
            } else {
                taken -= frame.byteCount
            }
        }
    }

    /// Counts as lost what the room has not encoded for this connection: it learns only by the turn's calls that a
    /// session came back with the other subprotocol.
    func lose(_ frame: SharedFrame, of room: RoomID) {
        guard frame.traffic != .status, let session else { return }
        session.state.losses.note(room: room, keptSeqs: frame.keptSeqs, unkept: frame.unkept, barrage: frame.barrage)
        // Through the queue, whose end tells losses in their place.
        if let first = pending {
            pending = nil
            queue.append(first)
        }
        flushLater()
    }

    /// The end of the turn writes what waits.
    private func flushLater() {
        guard !isDirty else { return }
        isDirty = true
        lane.dirty.append(self)
    }

    /// Writes what waits: once per turn and connection.
    func flush() {
        isDirty = false
        if let frame = pending {
            pending = nil
            let written = tcp.tryWrite(frame.bytes, from: 0)
            if written < frame.byteCount { tcp.write(frame.bytes, from: written) }
            return
        }
        writeQueue()
        if queue.byteCount > lane.configuration.sendQueueBytesMax { shed() }
        afterWriting()
        guard hasDrained else { return }
        hasDrained = false
        if !isReading || !unparsed.isEmpty { lane.continueReadingLater(self) }
    }

    /// When the socket has taken everything, what was lost is told in its place, before anything newer.
    private func afterWriting() {
        guard !tcp.isWriting, queue.isEmpty else { return }
        if let session, !session.state.losses.isEmpty { lane.tellLosses(of: session) }
        if closesWhenDrained { tcp.shutdownThenClose() }
    }

    private func writeQueue() {
        while !tcp.isWriting, queue.count > 1 {
            let bytes = lane.gather(from: &queue)
            let written = bytes.withUnsafeBytes { tcp.tryWrite($0) }
            if written < bytes.count { tcp.write(SharedBytes(copying: bytes[written...]), from: 0) }
        }
        if !tcp.isWriting, let frame = queue.popFirst() {
            let written = tcp.tryWrite(frame.bytes, from: 0)
            if written < frame.byteCount { tcp.write(frame.bytes, from: written) }
        }
    }

    /// The socket can't keep up: drops by class, and reads no further who is owed too many answers.
    private func shed() {
        guard let session else { return pauseReading() }
        let before = queue.byteCount
        let lane = lane
        queue.shed(to: lane.configuration.sendQueueBytesMax, losses: &session.state.losses) { lane.noteDropped($0) }
        if queue.byteCount < before { lane.noteShed(session) }
        if queue.byteCount >= lane.configuration.unreadRepliesBytesMax { pauseReading() }
    }

    /// The end of the turn goes on writing: of many sockets that take more at once, a share per turn.
    func connectionDidDrain(_ connection: TCPConnection) {
        hasDrained = true
        flushLater()
    }

    func ping() { enqueue(WebSocketFrameEncoder.frame(.ping, [])) }

    // MARK: - End

    /// Sends a close frame behind what waits and ends the connection.
    func close(_ code: CloseCode, _ reason: String) {
        if case .closing = phase { return }
        if case .handshake = phase {
            phase = .closing
            return tcp.close()
        }
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: code.rawValue, reason: reason))
        endAfterWriting()
    }

    private func answerClose() {
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: CloseCode.normal.rawValue, reason: ""))
        endAfterWriting()
    }

    /// Writes an HTTP answer and ends the connection.
    func refuseHandshake(_ response: [UInt8]) {
        enqueue(response)
        endAfterWriting()
    }

    func acceptHandshake(_ response: [UInt8], encoding: ClientEncoding, isCompressed: Bool) {
        self.encoding = encoding
        self.isCompressed = isCompressed
        decoder.mayBeCompressed = isCompressed
        connectDeadlineMilliseconds = lane.loop.nowMilliseconds + UInt64(lane.configuration.connectSeconds) * 1000
        enqueue(response)
        phase = .open
    }

    private func endAfterWriting() {
        phase = .closing
        lane.detach(self)
        pauseReading()
        flush()
        if tcp.isWriting || !queue.isEmpty {
            closesWhenDrained = true
            closeDeadlineMilliseconds = lane.loop.nowMilliseconds + Self.closeMilliseconds
        } else {
            tcp.shutdownThenClose()
        }
    }

    /// When a client that doesn't take its last bytes is cut off.
    private(set) var closeDeadlineMilliseconds: UInt64?

    func cut() { tcp.close() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        phase = .closing
        lane.didClose(self)
    }

    /// The tenth malformed request in a row closes the connection (contract, section 2).
    private static let malformedMax = 10
    private static let heldMax = 256
    private static let closeMilliseconds: UInt64 = 5_000
}
