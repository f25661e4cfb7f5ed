import ChatModel
import EventLoop
import HTTPWebSocket
import SessionCore
import Transport

/// Bytes become frames, as many in a turn as its share allows. Reading stops where no more may be taken.
extension ClientConnection {
    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        defer { count() }
        heartbeat.heard(nowMilliseconds: lane.loop.nowMilliseconds, lane.listening)
        switch phase {
        case .handshake:
            // The parser bounds it.
            handshakeBytes += bytes.count
            lane.readHandshake(bytes, of: self)
        case .open:
            // Reading has stopped mostly, but what was read with it (records of TLS) still comes.
            if unparsed.isEmpty, unfinished == nil, mayTake {
                readFrames(bytes)
            } else {
                unparsed.append(contentsOf: bytes)
                // So many replies may have come since the last flush that it has not stopped: the next one lets it go on.
                pauseReading()
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
        while position < bytes.count, framesLeft > 0, bytesLeft > 0, mayTake {
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

    var messageBytesMax: Int { session == nil ? Limits.connectFrameBytes : Limits.clientFrameBytes }

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

    func takeText(_ text: UnsafeRawBufferPointer) {
        guard encoding == .json else {
            return close(.unsupportedData, "this subprotocol has binary frames only")
        }
        takeFrame(text)
    }

    func takeBinary(_ message: UnsafeRawBufferPointer) {
        guard encoding == .protobuf else {
            return close(.unsupportedData, "this subprotocol has text frames only")
        }
        takeFrame(message)
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

    /// Bytes that came and have not been dealt with: of frames that are not whole, and of what may not be taken yet.
    var untakenBytes: Int { unparsed.count + decoder.bufferedCount + (unfinished?.bytes.count ?? 0) }

    /// Whether requests are taken: not while a token is checked, nor while the client does not read its replies, nor while
    /// it has brought too much that was compressed.
    var mayTake: Bool {
        guard case .open = phase, intake != .held, !isOverdrawn else { return false }
        return waitingBytes
            < (session == nil ? Self.unconnectedRepliesBytesMax : lane.configuration.unreadRepliesBytesMax)
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

    /// Frees what has come and is of no use any more.
    func release() {
        handshakeBytes = 0
        decoder = WebSocketFrameDecoder(role: .server)
        unparsed = []
        unfinished = nil
    }

    /// A frame of ``bytesBeforeLoginMax`` that is not complete, with its head.
    private static let receivedBeforeLoginMax = bytesBeforeLoginMax + 14
    /// The bytes that may wait for a client that has not connected before it is read no further.
    private static let unconnectedRepliesBytesMax = 16 * 1024
}
