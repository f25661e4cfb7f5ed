import ChatModel
import Deflate
import EventLoop
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Telemetry
import Transport
import Wire

/// One client's socket on one lane: bytes in, frames out. Lives on its lane's loop and nowhere else.
///
/// Bytes that came are handed to the lane as requests; what is to go out to it alone is appended by `enqueue` and
/// written once at the end of the turn. An `Audience` writes the frames that rooms show to everybody, and comes here
/// only when something waits already or the socket is full. Bytes that the socket does not take wait in `queue`, which
/// is bounded (see `SendQueue`).
final class ClientConnection: ConnectionHandler {
    let number: UInt64
    let tcp: TCPConnection
    unowned let lane: GatewayLane
    var phase = Phase.handshake(HTTPUpgradeParser())
    private var decoder = WebSocketFrameDecoder(role: .server)
    /// The encoding of its subprotocol; fixed by the handshake.
    private(set) var encoding = ClientEncoding.json
    /// The frames that its client can read; fixed when `connect` has been answered.
    private(set) var compression = Compression.none
    /// The client keeps the window of what it inflates; fixed by the handshake.
    private var keepsContext = false
    /// The room whose compressed stream it reads, or shall read: the first that it has entered, of those that it views.
    var followed: FollowedStream?
    /// The fate of its `connect`.
    var login = Login()
    /// nil before `connect` has been answered.
    var session: LaneSession?
    /// Rooms that this connection views, with its index in each hub.
    var views: [RoomID: Int] = [:]
    private var intake = Intake.reading
    /// The rest of a frame some of whose requests have been taken: bounded by the frame.
    private var unfinished: UnfinishedFrame?
    /// A message has been inflated before `connect` was answered.
    private var hasInflated = false
    /// When it must have connected, in loop time; nil once it has.
    var connectDeadlineMilliseconds: UInt64?
    var heartbeat: Heartbeat
    private var malformedInARow = 0

    private var queue = SendQueue<LaneFrame>()
    private var flushing = Flush.none {
        didSet { tcp.isHeld = flushing.isDue }
    }

    /// The places that it holds of the limits, to be given back at its end.
    struct Places {
        var isOfNode = false
        var holder: IPRange?
        var user: UserID?
    }

    enum NoPlace {
        /// The places of the node, or of its address, are taken.
        case full
        /// Too many come at once.
        case tooFast
    }

    /// Where its client is: the peer's address, or what a trusted proxy says of it.
    var address: IPAddress
    var places = Places()
    /// Why it is only told to come again; nil for one that is served.
    var noPlace: NoPlace?

    /// The bytes of the HTTP request.
    private var handshakeBytes = 0
    /// The frame that the socket is just taking, and how much of it is for this connection alone.
    private var inFlight: (frame: LaneFrame?, ownBytes: Int) = (nil, 0)
    /// It is among those that the lane looks at because bytes wait.
    private var isWaiting = false
    /// The bytes that the lane has counted for it.
    private(set) var countedBytes = 0
    /// With which it has been closed from here; nil without a close frame.
    private(set) var closeCode: CloseCode?

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
            intervalMilliseconds: UInt64(configuration.heartbeatSeconds) * 1000, nowMilliseconds: now, lane.listening)
        connectDeadlineMilliseconds = now + UInt64(configuration.connectSeconds) * 1000
    }

    // MARK: - In

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        defer { count() }
        heartbeat.heard(nowMilliseconds: lane.loop.nowMilliseconds, lane.listening)
        switch phase {
        case .handshake:
            // The parser bounds it.
            handshakeBytes += bytes.count
            lane.readHandshake(bytes, of: self)
        case .open:
            // Reading has stopped then, but what was read with it (records of TLS) still comes.
            if unparsed.isEmpty, unfinished == nil, mayTake {
                readFrames(bytes)
            } else {
                unparsed.append(contentsOf: bytes)
            }
            if session == nil, untakenBytes > Self.receivedBeforeLoginMax {
                close(.tooBig, "too much before connect")
                release()
            }
        case .answering, .transferring, .draining, .closing, .gone: break
        }
    }

    /// Parses what came, at most this turn's share of it; the rest waits for the next turn.
    func readFrames(_ bytes: UnsafeRawBufferPointer) {
        if shareTurn != lane.turn {
            shareTurn = lane.turn
            framesLeft = lane.configuration.framesPerTurnMax
            bytesLeft = lane.configuration.bytesPerTurnMax
        }
        // Taken out meanwhile: what a frame leads to may count or release what this connection holds.
        var decoder = WebSocketFrameDecoder(role: .server)
        swap(&decoder, &self.decoder)
        var position = 0
        // Frame by frame: what a frame leads to may forbid to take the next.
        while position < bytes.count, framesLeft > 0, mayTake {
            decoder.messageBytesMax = messageBytesMax
            var frames = 1
            let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
            let (taken, failure) = decoder.decode(rest, framesMax: &frames) { take($0) }
            if let failure, case .open = phase {
                close(CloseCode(rawValue: failure.closeCode) ?? .protocolError, failure.message)
            }
            position += taken
            framesLeft -= 1 - frames
        }
        guard case .open = phase else { return release() }
        self.decoder = decoder
        bytesLeft -= position
        if position < bytes.count { unparsed = Array(bytes[position...]) }
        if framesLeft == 0 || bytesLeft <= 0 { lane.throttle(self) }
        // Otherwise whatever forbids to take more has stopped reading, and lets it go on.
        if !unparsed.isEmpty { pauseReading() }
    }

    private var messageBytesMax: Int { session == nil ? Limits.connectFrameBytes : Limits.clientFrameBytes }

    private func take(_ event: WebSocketEvent) {
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

    private func takeText(_ text: UnsafeRawBufferPointer) {
        guard encoding == .json else {
            return close(.unsupportedData, "this subprotocol has binary frames only")
        }
        takeFrame(text)
    }

    private func takeBinary(_ message: UnsafeRawBufferPointer) {
        guard encoding == .protobuf else {
            return close(.unsupportedData, "this subprotocol has text frames only")
        }
        takeFrame(message)
    }

    private func takeFrame(_ bytes: UnsafeRawBufferPointer) {
        if session == nil, bytes.count > Limits.unconnectedFrameBytes,
            !ClientFrame.beginsWithConnect(bytes, encoding)
        {
            return close(.tooBig, "a frame of more than \(Limits.unconnectedFrameBytes) bytes before connect")
        }
        var reader = ClientFrameReader(encoding)
        guard takeRequests(in: bytes, with: &reader) else { return }
        unfinished = UnfinishedFrame(bytes: Array(bytes[reader.position...]), count: reader.count)
        pauseReading()
    }

    /// Takes the requests of a frame one by one, as long as they may be.
    /// - Returns: whether the rest of them must wait.
    private func takeRequests(in bytes: UnsafeRawBufferPointer, with reader: inout ClientFrameReader) -> Bool {
        while mayTake, let request = reader.next(in: bytes) {
            guard reader.count <= lane.configuration.requestsPerFrameMax else {
                refuseMore(request)
                return false
            }
            take(request)
        }
        guard case .open = phase else { return false }
        return reader.hasMore(in: bytes)
    }

    /// Goes on with the frame that was not finished.
    private func takeUnfinished() {
        guard var frame = unfinished else { return }
        unfinished = nil
        var reader = ClientFrameReader(encoding, position: frame.position, count: frame.count)
        guard frame.bytes.withUnsafeBytes({ takeRequests(in: $0, with: &reader) }) else { return }
        (frame.position, frame.count) = (reader.position, reader.count)
        unfinished = frame
        pauseReading()
    }

    /// A frame holds more requests than it may (PROTOCOL.md, "Frames").
    private func refuseMore(_ request: Result<ClientRequest, RequestFailure>) {
        let id =
            switch request {
            case .success(let request): request.id
            case .failure(let failure): failure.id
            }
        reply(
            id,
            error: ChatError(
                .badParameter, "a frame holds at most \(lane.configuration.requestsPerFrameMax) requests"))
        close(.policyViolation, "too many requests in a frame")
    }

    /// A compressed message becomes no larger than one that comes as it is may be.
    private func takeCompressed(_ payload: UnsafeRawBufferPointer, isText: Bool) {
        guard let inflater = lane.compression?.inflater else {
            return close(.protocolError, "compression was not negotiated")
        }
        do throws(Inflater.Failure) {
            let message =
                session == nil
                ? try inflatedConnect(payload, isText, inflater)
                : try inflater.inflate(payload, bytesMax: messageBytesMax)
            message.withUnsafeBytes { message in
                guard isText else { return takeBinary(message) }
                guard WebSocketFrameDecoder.isText(message) else { return close(.invalidText, "text is not UTF-8") }
                takeText(message)
            }
        } catch {
            switch error {
            case .corrupt: close(.invalidText, "a message that can't be decompressed")
            case .tooBig: close(.tooBig, "message too big")
            case .unwanted: close(.policyViolation, "a compressed message before connect")
            case .tooDear: close(.policyViolation, "a message that is dear to decompress")
            }
        }
    }

    /// Before `connect` is answered one message is inflated, no more, and only if it is a `connect`: browsers compress
    /// whatever they send, their `connect` too. Any other message of a stranger is dropped after its first bytes.
    private func inflatedConnect(
        _ payload: UnsafeRawBufferPointer, _ isText: Bool, _ inflater: Inflater
    ) throws(Inflater.Failure) -> [UInt8] {
        guard !hasInflated else { throw .unwanted }
        // A frame of the wrong type is refused by its type alone.
        guard isText == (encoding == .json) else { return [] }
        hasInflated = true
        do throws(Inflater.Failure) {
            let message = try inflater.inflate(
                payload, bytesMax: messageBytesMax,
                ifWanted: { beginning in
                    ClientFrame.showsConnect(beginning, encoding)
                })
            lane.shared.figures.inflatedConnects.add()
            return message
        } catch {
            lane.shared.figures.inflatedRefusals.add()
            throw error
        }
    }

    /// Goes on in another turn, or when what held it back has gone: first with what waits here.
    func continueReading() {
        guard mayTake else { return }
        defer { count() }
        takeUnfinished()
        guard unfinished == nil, mayTake else { return }
        if !unparsed.isEmpty {
            let rest = unparsed
            unparsed = []
            rest.withUnsafeBytes { readFrames($0) }
        }
        if unparsed.isEmpty, shareTurn != lane.turn || framesLeft > 0 && bytesLeft > 0 { resumeReading() }
    }

    /// The bytes that wait to be written.
    var waitingBytes: Int {
        if case .single(let frame) = flushing { return queue.byteCount + frame.byteCount }
        return queue.byteCount
    }

    /// Bytes that came and have not been dealt with: of frames that are not whole, and of what may not be taken yet.
    var untakenBytes: Int { unparsed.count + decoder.bufferedCount + (unfinished?.bytes.count ?? 0) }

    /// Whether requests are taken: not while a token is checked, nor while the client does not read its replies.
    private var mayTake: Bool {
        guard case .open = phase, intake != .held else { return false }
        return waitingBytes
            < (session == nil ? Self.unconnectedRepliesBytesMax : lane.configuration.unreadRepliesBytesMax)
    }

    /// The bytes that may wait for a client that has not connected before it is read no further.
    private static let unconnectedRepliesBytesMax = 16 * 1024

    // MARK: - Memory

    /// Tells the lane's buffers what of them is held for this connection alone.
    func count() {
        let isGone = if case .gone = phase { true } else { false }
        let now =
            isGone
            ? 0
            : handshakeBytes + decoder.bufferedCapacity + unparsed.capacity + (unfinished?.bytes.capacity ?? 0)
                + queue.ownByteCount + inFlight.ownBytes
                + tcp.sealedByteCount
        lane.buffers.ownBytes += now - countedBytes
        countedBytes = now
    }

    /// The bytes that its end frees, with those that the socket is taking, of which others may have a part.
    var freeableBytes: Int { countedBytes - inFlight.ownBytes + (inFlight.frame?.byteCount ?? inFlight.ownBytes) }

    /// The bytes that wait for it and maybe for others too.
    var waitingSharedBytes: Int { queue.byteCount - queue.ownByteCount }

    /// Loses all of rooms that waits for it, to be told so as soon as it takes something.
    func shedAll() {
        guard let session else { return }
        queue.shed(to: 0, losses: &session.state.losses) { noteDropped($0) }
        count()
        lane.noteShed(session)
    }

    /// The node is short of memory, and this connection holds much of it: lets it go at once.
    func giveWay() {
        release()
        if case .open = phase, !tcp.isWriting, queue.isEmpty {
            // Nobody waits for it to be read.
            lane.turnAway(self, "the node is short of memory")
        } else {
            if !phase.isEnding { lane.detach(self) }
            phase = .closing
            tcp.close()
            dropOutput()
        }
        count()
    }

    private func dropOutput() {
        // Its place in the lane's list stays.
        if case .single = flushing { flushing = .queue }
        queue = SendQueue()
    }

    /// Frees what has come and is of no use any more.
    private func release() {
        handshakeBytes = 0
        decoder = WebSocketFrameDecoder(role: .server)
        unparsed = []
        unfinished = nil
    }

    private func take(_ result: Result<ClientRequest, RequestFailure>) {
        switch result {
        case .success(let request):
            malformedInARow = 0
            lane.handle(request, from: self)
        case .failure(let failure): take(failure)
        }
    }

    private func take(_ failure: RequestFailure) {
        if failure.isUnknownOperation {
            malformedInARow = 0
            if failure.id != nil { reply(failure.id, error: failure.error) }
            return
        }
        if failure.error.code == .malformed {
            lane.shared.figures.malformed.add()
            malformedInARow += 1
        } else {
            malformedInARow = 0
        }
        if session == nil, failure.isOfConnect, failure.error.code == .tooLarge, failure.error.field == "token" {
            return lane.refuse(failure.error, failure.id, self)
        }
        // Nobody waits for the answer to a tap without an ID, be it a wrong one.
        if !failure.isUnanswered { reply(failure.id, error: failure.error) }
        if malformedInARow >= Self.malformedMax { close(.policyViolation, "too many malformed requests") }
    }

    /// Stops taking requests until `resumeRequests`, in the middle of a frame too.
    func holdRequests() {
        if intake.hold() { tcp.stopReading() }
    }

    /// Goes on with what was held. Without a hold nothing is done: a frame that was left for its unread replies goes on
    /// when they have been read, and not before.
    func resumeRequests() {
        if intake.endHold() { continueReading() }
    }

    func pauseReading() {
        if intake.pause() { tcp.stopReading() }
    }

    func resumeReading() {
        guard mayTake, unparsed.isEmpty, unfinished == nil else { return }
        if intake.resume() { tcp.startReading() }
    }

    // MARK: - Out

    func reply(_ request: UInt32?, _ result: OperationResult) {
        guard let request else { return }
        enqueue(.reply(id: request, .success(result)))
    }

    func reply(_ request: UInt32?, error: ChatError) {
        enqueue(.reply(id: request, .failure(error)))
    }

    func reply(_ request: UInt32, _ result: Result<OperationResult, ChatError>) {
        enqueue(.reply(id: request, result))
    }

    /// Answers an enter with what many have missed.
    /// - Parameter missed: nil when it got lost on its way: then all of it is more, and read from history. An enter that
    ///   asked for the newest messages gets none then.
    func reply(_ request: UInt32, _ result: EnterResult, missed: MissedMessages?) {
        guard let encoded = missed?[encoding] else {
            var result = result
            (result.missed, result.missedMore) = ([], result.recovered == true ? true : nil)
            return reply(request, .enter(result))
        }
        enqueue(LaneFrame(result, to: request, missed: encoded, in: encoding))
    }

    func push(_ push: Push) { enqueue(.push(push)) }

    private func enqueue(_ item: ServerItem) { enqueue(LaneFrame(item, in: encoding)) }

    private func enqueue(_ frame: [UInt8]) { enqueue(LaneFrame(reply: SharedBytes(copying: frame))) }

    /// Appends a frame; it is written at the end of the turn.
    func enqueue(_ frame: LaneFrame) {
        guard flushing.isDue || !queue.isEmpty || tcp.isWriting else {
            lane.dirty.append(self)
            flushing = .single(frame)
            return
        }
        flushQueueLater()
        // A client that has lost something gets nothing of rooms until the loss has been told, in its place.
        if frame.traffic != .reply, let session, !session.state.losses.isEmpty {
            session.state.losses.note(frame)
            noteDropped(frame)
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
                write(frame, from: taken)
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
        if frame.traffic == .totals {
            session.state.losses.noteTotals(of: room)
        } else {
            session.state.losses.note(
                room: room, keptSeqs: frame.keptSeqs, unkept: frame.unkept, barrage: frame.barrage)
        }
        // Through the queue, whose end tells losses in their place.
        flushQueueLater()
    }

    private func noteDropped(_ frame: LaneFrame) {
        lane.noteDropped(frame)
        guard frame.traffic == .messages, let followed, followed.isInStep, followed.room == frame.room else { return }
        noteBehind()
    }

    /// The client lacks some of the stream that it reads, and is to be primed again.
    private func noteBehind() {
        guard followed?.isBehind == false else { return }
        followed?.isBehind = true
        lane.behind.append(self)
    }

    /// The end of the turn writes the queue, which a single frame goes into first.
    private func flushQueueLater() {
        switch flushing {
        case .none: lane.dirty.append(self)
        case .single(let first): queue.append(first)
        case .queue: return
        }
        flushing = .queue
    }

    /// Writes what waits: once per turn and connection.
    func flush() {
        let due = exchange(&flushing, with: .none)
        defer { count() }
        if !tcp.isWriting { inFlight = (nil, 0) }
        if case .single(let frame) = due {
            writeAll(of: frame)
            return continueUnfinished()
        }
        writeQueue()
        if session == nil {
            if queue.byteCount > Self.bytesBeforeLoginMax { pauseReading() }
        } else if queue.byteCount > lane.configuration.sendQueueBytesMax {
            shed()
        }
        afterWriting()
        continueUnfinished()
    }

    /// Requests that were left because too many replies waited go on in the next turn, when these have been written.
    private func continueUnfinished() {
        if intake == .paused, !isThrottled, mayTake { lane.continueReadingLater(self) }
    }

    /// When the socket has taken everything, what was lost is told in its place, before anything newer.
    private func afterWriting() {
        guard !tcp.isWriting, queue.isEmpty else { return }
        if let session { lane.sendLosses(of: session) }
        if case .draining = phase { tcp.shutdownThenClose() }
    }

    private func writeQueue() {
        while !tcp.isWriting, queue.count > 1 {
            let bytes = lane.gather(from: &queue)
            let written = bytes.withUnsafeBytes { tcp.tryWrite($0) }
            lane.sentBytes += bytes.count
            guard written < bytes.count else { continue }
            let rest = SharedBytes(copying: bytes[written...])
            tcp.write(rest, from: 0)
            inFlight = (nil, rest.count)
        }
        if !tcp.isWriting, let frame = queue.popFirst() { writeAll(of: frame) }
    }

    private func writeAll(of frame: LaneFrame) {
        let written = tcp.tryWrite(frame.bytes, from: 0)
        lane.sentBytes += written
        if written < frame.byteCount { write(frame, from: written) }
    }

    /// Hands over what the socket has not taken at once. The frame is kept until then, since it counts what it holds.
    private func write(_ frame: LaneFrame, from offset: Int) {
        lane.sentBytes += frame.byteCount - offset
        tcp.write(frame.bytes, from: offset)
        inFlight = (frame, frame.traffic == .reply ? frame.byteCount : 0)
    }

    /// The socket can't keep up: drops by class, and reads no further who is owed too many answers.
    private func shed() {
        guard let session else { return pauseReading() }
        let before = queue.byteCount
        queue.shed(to: lane.configuration.sendQueueBytesMax, losses: &session.state.losses) { noteDropped($0) }
        if queue.byteCount < before { lane.noteShed(session) }
        if queue.byteCount >= lane.configuration.unreadRepliesBytesMax { pauseReading() }
    }

    /// From here on the lane looks at it once a second.
    func connectionDoesWait(_ connection: TCPConnection) {
        guard !isWaiting else { return }
        isWaiting = true
        lane.waiting.append(self)
    }

    /// Whether bytes still wait for the socket; if not, the lane looks at it no more.
    func staysWaiting() -> Bool {
        let isGone = if case .gone = phase { true } else { false }
        isWaiting = !isGone && (tcp.isWriting || !queue.isEmpty)
        return isWaiting
    }

    /// The end of the turn goes on writing: of many sockets that take more at once, a share per turn.
    func connectionDidDrain(_ connection: TCPConnection) {
        if !flushing.isDue { flushQueueLater() }
    }

    func ping() { enqueue(WebSocketFrameEncoder.frame(.ping, [])) }

    // MARK: - End

    /// Sends a close frame behind what waits and ends the connection.
    func close(_ code: CloseCode, _ reason: String) {
        guard !phase.isEnding else { return }
        closeCode = code
        switch phase {
        case .handshake, .answering, .transferring:
            phase = .closing
            return tcp.close()
        default: break
        }
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: code.rawValue, reason: reason))
        endAfterWriting()
    }

    private func answerClose() {
        closeCode = .normal
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: CloseCode.normal.rawValue, reason: ""))
        endAfterWriting()
    }

    /// Writes an HTTP answer and ends the connection.
    func refuseHandshake(_ response: [UInt8]) {
        enqueue(response)
        endAfterWriting()
    }

    func acceptHandshake(
        _ response: [UInt8], encoding: ClientEncoding, agreement: PermessageDeflate.Agreement?
    ) {
        self.encoding = encoding
        compression = agreement == nil ? .none : .alone
        keepsContext = agreement?.keepsContext ?? false
        decoder.mayBeCompressed = agreement != nil
        connectDeadlineMilliseconds = lane.loop.nowMilliseconds + UInt64(lane.configuration.connectSeconds) * 1000
        enqueue(response)
        handshakeBytes = 0
        phase = .open
    }

    /// The client takes lines of a room once more, so it can join the room's compressed stream anywhere (PROTOCOL.md,
    /// "Compression"). Frames of protobuf are in no such stream.
    func allowPrimers() {
        if keepsContext, encoding == .json { compression = .shared }
    }

    private func endAfterWriting() {
        phase = .closing
        (unparsed, unfinished) = ([], nil)
        lane.detach(self)
        pauseReading()
        flush()
        if tcp.isWriting || !queue.isEmpty {
            phase = .draining(untilMilliseconds: lane.loop.nowMilliseconds + Self.closeMilliseconds)
            lane.plan(self)
        } else {
            tcp.shutdownThenClose()
        }
    }

    func cut() { tcp.close() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        phase = .gone
        release()
        dropOutput()
        inFlight = (nil, 0)
        count()
        lane.didClose(self)
    }

    /// The tenth malformed request in a row closes the connection (PROTOCOL.md, "Malformed requests").
    private static let malformedMax = 10
    /// A client that has not connected is worth no more, in either direction.
    static let bytesBeforeLoginMax = 64 * 1024
    /// A frame of that size that is not complete, with its head.
    private static let receivedBeforeLoginMax = bytesBeforeLoginMax + 14
    private static let closeMilliseconds: UInt64 = 5_000
}
