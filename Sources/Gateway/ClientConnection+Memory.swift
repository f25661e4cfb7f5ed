import HTTPWebSocket
import SessionCore
import Transport

/// The bytes that this connection holds, and what it gives up when the node is short of memory.
extension ClientConnection {
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
}
