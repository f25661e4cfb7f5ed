import ChatModel
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Transport
import Wire

/// Frames for this client alone, or that a broadcast did not write, wait for the end of the turn.
extension ClientConnection {
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

    func enqueue(_ frame: [UInt8]) { enqueue(LaneFrame(reply: SharedBytes(copying: frame))) }

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

    func ping() { enqueue(WebSocketFrameEncoder.frame(.ping, [])) }

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

    func noteDropped(_ frame: LaneFrame) {
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
    func flushQueueLater() {
        switch flushing {
        case .none: lane.dirty.append(self)
        case .single(let first): queue.append(first)
        case .queue: return
        }
        flushing = .queue
    }
}
