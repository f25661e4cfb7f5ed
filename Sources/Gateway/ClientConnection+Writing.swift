import SessionCore
import Transport

/// The end of the turn writes what waits. The rest waits for the socket, within a bound.
extension ClientConnection {
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
    func write(_ frame: LaneFrame, from offset: Int) {
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

    /// The bytes that wait to be written.
    var waitingBytes: Int {
        if case .single(let frame) = flushing { return queue.byteCount + frame.byteCount }
        return queue.byteCount
    }

    func dropOutput() {
        // Its place in the lane's list stays.
        if case .single = flushing { flushing = .queue }
        queue = SendQueue()
    }

    /// A client that has not connected is worth no more, in either direction.
    static let bytesBeforeLoginMax = 64 * 1024
}
