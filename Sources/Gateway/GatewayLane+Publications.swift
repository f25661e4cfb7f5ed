import ChatModel
import EventLoop
import RoomProtocol
import ShardPlacement
import SessionCore
import Synchronization
import Wire

/// Publications of rooms for this lane. Performed in order, so that per room everything is one ordered stream.
extension GatewayLane {
    /// Performs the lane's part of publications.
    ///
    /// - Parameters:
    ///   - positions: of those that have something for this lane.
    ///   - node: who says it. Only answers are heard of a former leader, and of the present one before it goes on from
    ///     the shown position.
    func perform(_ publications: [NodePublication], at positions: [Int], from node: NodeID) {
        for position in positions {
            let publication = publications[position]
            let isCurrent = open.isCurrent(publication.term, of: shared.shardMap.shard(of: publication.room))
            publication.forEachOutput(of: number) { output in
                if case .missed(let messages) = output {
                    // Whether its answers are heard or not.
                    if isCurrent { missed.hear(messages, of: publication.room, from: node) }
                } else if isCurrent ? awaited.takes(output, of: publication.room) : output.isAnswer {
                    perform(output, of: publication.room, from: node)
                }
            }
        }
        sendUnknown(to: node)
    }

    private func perform(_ output: RoomOutput, of room: RoomID, from node: NodeID) {
        switch output {
        case .frame(let frame):
            if let seqs = frame.keptSeqs { roster.hear(seqs.upperBound, of: room) }
            hubs[room]?.broadcast(frame)
        case .frameFor(let ids, let frame):
            if let seqs = frame.keptSeqs {
                roster.hear(seqs.upperBound, of: room)
                hubs[room]?.shown.showSome(seqs)
            }
            var frames = LaneFrames(frame, of: room, countedIn: buffers)
            for id in ids {
                guard let viewer = viewer(id, of: room) else { continue }
                settle(viewer, in: room)
                frames.enqueue(to: viewer)
            }
        case .frameExcept(let ids, let frame):
            if let seqs = frame.keptSeqs { roster.hear(seqs.upperBound, of: room) }
            hubs[room]?.broadcast(frame, except: ids.compactMap { viewer($0, of: room) })
        case .reply(let id, let request, let result, let isRepeat, let charged):
            if case .failure(let error) = result, error.code == .notInRoom, announceUnknown(id, request, room, by: node)
            {
                return
            }
            guard open.answered(.session(id), request) else { return }
            settleCost(of: request, id, isRepeat: isRepeat, charged: charged)
            reply(to: id, request, result, of: room)
        case .retry(let id, let request):
            open.refused(.session(id), request, by: node, at: loop.nowMilliseconds)
        case .profile(let id, let profile):
            sessions[id]?.state.onProfile(profile, in: room)
        case .following(_, let seq):
            roster.advance(through: seq, of: room)
            hubs[room]?.resume()
        case .voice(let id, let voice):
            sessions[id]?.state.onVoice(voice, in: room)
        case .silence(let isMuted):
            hubs[room]?.isMuted = isMuted
        case .barrageReceipt(let window, let shown):
            if let hub = hubs[room] { settle(window, shown: shown, in: hub) }
        case .barrageEcho(let id, let items):
            if let hub = hubs[room] { echo(items, to: id, in: hub) }
        case .barrage(let sample, let skipped):
            if let hub = hubs[room] { show(sample, skipped: skipped, in: hub) }
        case .taps(let window, let result): settleTaps(window, result, of: room)
        case .gap(let seqs):
            roster.hear(seqs.upperBound, of: room)
            hubs[room]?.sendGap(seqs)
        case .missed: break
        case .entered(let id, let request, let result, let missedAfter):
            entered(id, room, Session.EnterAnswer(request: request, result: result, missedAfter: missedAfter))
        case .exited(let id, let request):
            exited(id, room, request)
        case .takenOver(let taken): end(copyOf: taken)
        case .kicked(let id, let reason, let ext):
            kicked(id, room, reason: reason, ext: ext)
        }
    }

    private func viewer(_ id: SessionID, of room: RoomID) -> ClientConnection? {
        guard let connection = sessions[id]?.connection, connection.views[room] != nil else { return nil }
        return connection
    }

    /// Before something that a room says to one viewer alone, the viewer gets what the room has shown to everybody.
    func settle(_ viewer: ClientConnection, in room: RoomID) {
        if !active.isEmpty { hubs[room]?.settle(viewer) }
    }

    func reply(
        to id: SessionID, _ request: UInt32, _ result: Result<OperationResult, ChatError>, of room: RoomID
    ) {
        guard let session = sessions[id], let asked = session.state.onAnswer(to: request),
            let connection = session.connection
        else { return }
        settle(connection, in: room)
        connection.reply(asked, result.map { completed($0, of: room, for: session) })
    }

    func entered(_ id: SessionID, _ room: RoomID, _ answer: Session.EnterAnswer) {
        let isOpen = answer.request.map { open.answered(.session(id), $0) } ?? true
        if let request = answer.request { settleCost(of: request, id, isRepeat: false) }
        guard let session = sessions[id] else {
            if case .success(let result) = answer.result { enteredUnseen(id, room, result) }
            return
        }
        var answer = answer
        if case .success(var result) = answer.result, let token = readToken(of: room, for: session) {
            result.media = token
            answer.result = .success(result)
        }
        perform(session.state.onEntered(room, answer, isOpen: isOpen, at: shared.now()), of: session)
    }

    /// The session has ended or has moved to another lane before the room's answer came.
    private func enteredUnseen(_ id: SessionID, _ room: RoomID, _ result: EnterResult) {
        guard let place = shared.directory.lane(of: id), place != number else {
            return leave(room, id, Caller(user: result.me.user, anonymous: false))
        }
        let other = shared.lanes.withLock { $0[place] }
        other.loop.execute { other.value.isInUnseen(id, room, result) }
    }

    private func isInUnseen(_ id: SessionID, _ room: RoomID, _ result: EnterResult) {
        guard let session = sessions[id] else { return enteredUnseen(id, room, result) }
        perform(session.state.onEnteredElsewhere(room, result, at: shared.now()), of: session)
    }

    func exited(_ id: SessionID, _ room: RoomID, _ request: UInt32?) {
        let isOpen = request.map { open.answered(.session(id), $0) } ?? false
        if let request { settleCost(of: request, id, isRepeat: false) }
        guard let session = sessions[id] else { return }
        perform(session.state.onExited(room, request: request, isOpen: isOpen), of: session)
    }

    private func kicked(_ id: SessionID, _ room: RoomID, reason: KickReason, ext: String?) {
        guard let session = sessions[id] else { return }
        let effects = session.state.onKicked(
            room, reason, ext: ext, isAnnounced: awaited.awaits(room), nowMilliseconds: loop.nowMilliseconds)
        perform(effects, of: session)
    }
}
