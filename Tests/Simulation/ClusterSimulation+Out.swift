import ChatModel
import RoomLink
import SessionCore
import Wire

/// What lanes write to clients, and what they do as time passes.
extension ClusterSimulation {
    func reply(
        _ socket: SimulatedSocket, _ id: UInt32?, _ result: Result<OperationResult, ChatError>, _ lane: SimulatedLane
    ) {
        guard let id else { return }
        enqueue(SimulatedFrame(.reply(id: id, result)), socket, lane)
    }

    func enqueue(_ frame: SimulatedFrame, _ socket: SimulatedSocket, _ lane: SimulatedLane) {
        if !socket.isDirty {
            socket.isDirty = true
            lane.dirty.append(socket)
        }
        // Whoever has lost something gets nothing of rooms until the loss has been told, in its place.
        if frame.traffic != .reply, let session = socket.session, !session.losses.isEmpty {
            return session.losses.note(frame)
        }
        socket.queue.append(frame)
    }

    func flush(_ socket: SimulatedSocket) {
        socket.isDirty = false
        // What waits for a connection that has ended goes with it.
        guard socket.isOpenAtServer else { return }
        write(socket)
        if socket.queue.byteCount > Self.sendQueueBytesMax, let session = socket.session, sabotage != .neverSheds {
            count("send queues shed")
            socket.queue.shed(to: Self.sendQueueBytesMax, losses: &session.losses)
            if sabotage == .losesSilently { session.losses = Losses() }
        }
        checkers.holds(
            socket.queue.byteCount, atMost: Self.sendQueueBytesMax + Self.repliesBytesMax, "bytes for one client")
        guard socket.isWritingUntil <= now, socket.queue.isEmpty, let session = socket.session,
            !session.losses.isEmpty
        else { return }
        for loss in session.losses.take() where !loss.ranges.isEmpty && session.stays[loss.room] != nil {
            count("gaps told")
            let ranges = loss.ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
            socket.queue.append(SimulatedFrame(.push(.gap(GapPush(room: loss.room, ranges: ranges, cause: .slow)))))
        }
        write(socket)
    }

    /// As far as the system takes it; a slow client's takes one frame at a time.
    private func write(_ socket: SimulatedSocket) {
        while socket.isWritingUntil <= now, let frame = socket.queue.popFirst() {
            let bytesPerSecond = isPeace ? nil : clients[socket.client].bytesPerSecond
            if let bytesPerSecond {
                socket.isWritingUntil = now + .milliseconds(frame.byteCount * 1_000 / bytesPerSecond)
                add(.drained(socket), in: socket.isWritingUntil - now)
            }
            toClient(socket, .items(socket, frame.items))
        }
    }

    // MARK: - Time

    func laneTick(_ lane: SimulatedLane) {
        for call in lane.open.expire(at: milliseconds) { giveUp(call, lane) }
        askOverdueAgain(lane)
        checkers.holds(lane.open.count, atMost: Self.openCallsMax, "open calls at \(lane.node.name)")
        for socket in lane.sockets {
            switch socket.heartbeat.tick(nowMilliseconds: milliseconds) {
            case .none: break
            case .ping: toClient(socket, .items(socket, []))
            case .drop: close(socket, 4408, lane)
            }
        }
        if lane.node.loops[lane.number].ticks % Self.ticksPerSecond == 0 { watchLeaders(lane) }
        for session in lane.sessions.values.sorted(by: { $0.id.text < $1.id.text }) {
            guard let since = session.awaySince, since + graceMilliseconds <= milliseconds else { continue }
            lane.sessions[session.id] = nil
            for room in session.rooms where session.stays[room] != nil {
                lane.roster.remove(session.hash, from: room, of: shard(of: room))
            }
            for room in session.rooms { ask([call(session, room, .leave, lane)], lane) }
        }
    }

    static let heartbeatMilliseconds: UInt64 = 1_000
    private static let sendQueueBytesMax = 700
    /// A socket has few questions open, and answers are not shed.
    private static let repliesBytesMax = 1_000
    private static let openCallsMax = 1_000
}
