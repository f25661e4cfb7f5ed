import ChatModel
import EventLoop
import RoomLink
import Sharding
import SessionCore
import Synchronization
import Wire

/// What rooms tell this lane. Performed in order, so that per room everything is one ordered stream.
extension GatewayLane {
    ///
    /// - Parameter node: who says it. Of what a former leader still says only answers are heard, and of what the present
    ///   one says before it goes on from what was shown.
    func perform(_ publications: [Publication], from node: NodeID) {
        for publication in publications {
            let isCurrent = open.isCurrent(publication.term, of: shared.shardMap.shard(of: publication.room))
            for output in publication.outputs {
                if case .missed(let messages) = output {
                    // Whether its answers are heard or not.
                    if isCurrent { missed.hear(messages, of: publication.room, from: node) }
                } else if isCurrent ? awaited.takes(output, of: publication.room) : output.isAnswer {
                    perform(output, of: publication.room, from: node)
                }
            }
        }
        tellUnknown(to: node)
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
            guard open.answered(id, request) else { return }
            settleCost(of: request, id, isRepeat: isRepeat, charged: charged)
            reply(to: id, request, result, of: room)
        case .retry(let id, let request):
            open.refused(id, request, by: node, at: loop.nowMilliseconds)
        case .profile(let id, let profile):
            sessions[id]?.state.show(profile, in: room)
        case .following(_, let seq):
            roster.goOn(through: seq, of: room)
            hubs[room]?.goOn()
        case .voice(let id, let voice):
            sessions[id]?.state.hear(voice, in: room)
        case .silence(let isMuted):
            hubs[room]?.isMuted = isMuted
        case .barrageReceipt(let window, let shown):
            if let hub = hubs[room] { settle(window, shown: shown, in: hub) }
        case .barrageEcho(let id, let items):
            if let hub = hubs[room] { echo(items, to: id, in: hub) }
        case .barrage(let sample, let skipped):
            if let hub = hubs[room] { show(sample, skipped: skipped, in: hub) }
        case .gap(let seqs):
            roster.hear(seqs.upperBound, of: room)
            hubs[room]?.tellGap(seqs)
        case .missed: break
        case .entered(let id, let request, let result, let missedAfter):
            entered(id, room, request, result, missedAfter)
        case .exited(let id, let request):
            exited(id, room, request)
        case .kicked(let id, let reason, let ext):
            kicked(id, room, reason, ext)
        }
    }

    private func viewer(_ id: SessionID, of room: RoomID) -> ClientConnection? {
        guard let connection = sessions[id]?.connection, connection.views[room] != nil else { return nil }
        return connection
    }

    /// Before something that a room says to one viewer alone, the viewer gets what the room has shown to everybody.
    private func settle(_ viewer: ClientConnection, in room: RoomID) {
        if !active.isEmpty { hubs[room]?.settle(viewer) }
    }

    private func reply(
        to id: SessionID, _ request: UInt32, _ result: Result<OperationResult, ChatError>, of room: RoomID
    ) {
        guard let session = sessions[id], let asked = session.state.requests.end(request),
            let connection = session.connection
        else { return }
        settle(connection, in: room)
        switch result {
        case .success(let value): connection.reply(asked, value)
        case .failure(let error): connection.reply(asked, error: error)
        }
    }

    /// The session is in the room from here on: what follows this in the stream is what it sees.
    private func entered(
        _ id: SessionID, _ room: RoomID, _ request: UInt32?, _ result: Result<EnterResult, ChatError>,
        _ missedAfter: UInt64?
    ) {
        let isOpen = request.map { open.answered(id, $0) } ?? true
        if let request { settleCost(of: request, id, isRepeat: false) }
        guard let session = sessions[id] else {
            if case .success(let value) = result { enteredUnseen(id, room, value) }
            return
        }
        guard isOpen else {
            // It was given up, or answered by another leader. A newer one that is under way would be undone by this.
            if case .success = result, !session.isIn(room), !session.entering.contains(where: { $0.room == room }) {
                leave(room, session)
            }
            return
        }
        let asked = request.flatMap { session.state.requests.end($0) }
        let notifyExt = session.entering.first { $0.room == room }?.notifyExt
        // A newer connection may wait for an enter of its own.
        if asked != nil { session.entering.removeAll { $0.room == room } }
        switch result {
        case .failure(let error):
            if let asked { session.connection?.reply(asked, error: error) }
        case .success where session.state.caller.rooms.map({ !$0.contains(room) }) ?? false:
            // The token has been replaced by a narrower one since it asked.
            leave(room, session)
            let error = ChatError(.forbidden, "the token does not allow room \(room)", field: "room")
            if let asked { session.connection?.reply(asked, error: error) }
        case .success(let value):
            stay(Stay(value, notifyExt: notifyExt), session, in: room)
            session.enteredBy[room] = request
            roster.hear(value.seq, of: room)
            session.state.hear(Voice(value.me, at: shared.now()), in: room)
            // Whoever went meanwhile stays a member for the grace, but views nothing; back again, it enters again.
            guard let asked, let connection = session.connection, case .open = connection.phase else { return }
            settle(connection, in: room)
            session.state.losses.forget(room)
            if let missedAfter {
                connection.reply(asked, value, missed: missed.messages(of: room, after: missedAfter))
            } else {
                connection.reply(asked, .enter(value))
            }
            let hub = hubs[room] ?? Hub(room: room, lane: self)
            hubs[room] = hub
            hub.add(connection)
            hub.isMuted = value.room.info.muted
            hub.shown.enter(at: StreamPlace(epoch: value.epoch, seq: value.seq))
        }
    }

    /// The session has ended or has moved to another lane before the room's answer came, of which its client never hears.
    /// Where it is now, it has to know of the room: else nobody would ever leave for it.
    private func enteredUnseen(_ id: SessionID, _ room: RoomID, _ result: EnterResult) {
        guard let place = shared.directory.lane(of: id), place != number else {
            return leave(room, id, Caller(user: result.me.user, anonymous: false))
        }
        let other = shared.lanes.withLock { $0[place] }
        other.loop.execute { other.value.isInUnseen(id, room, result) }
    }

    private func isInUnseen(_ id: SessionID, _ room: RoomID, _ result: EnterResult) {
        guard let session = sessions[id] else { return enteredUnseen(id, room, result) }
        // It may have asked again, and have its answer.
        guard !session.isIn(room) else { return }
        // Its token may be a narrower one by now.
        guard session.state.caller.rooms?.contains(room) ?? true else { return leave(room, session) }
        stay(Stay(result, notifyExt: nil), session, in: room)
        roster.hear(result.seq, of: room)
        session.state.hear(Voice(result.me, at: shared.now()), in: room)
        call(
            RoomCall(
                room: room, address: address(of: session), caller: session.state.caller, request: nil,
                body: .moved(from: nil)))
        if session.connection == nil {
            call(
                RoomCall(
                    room: room, address: address(of: session), caller: session.state.caller, request: nil, body: .away))
        }
    }

    func exited(_ id: SessionID, _ room: RoomID, _ request: UInt32?) {
        let isOpen = request.map { open.answered(id, $0) } ?? false
        if let request { settleCost(of: request, id, isRepeat: false) }
        guard let session = sessions[id] else { return }
        // A second answer to an exit, which was asked again, must not undo an enter of after it.
        if !isOpen, let request, let entered = session.enteredBy[room], entered > request { return }
        // Its client was told that the exit has failed, and believes to be in the room: so it is there again.
        if !isOpen, request != nil, session.isIn(room) {
            unknown[room, default: []].insert(id)
            return
        }
        forget(room, session)
        guard let request, let asked = session.state.requests.end(request), isOpen else { return }
        session.connection?.reply(asked, .exit)
    }

    private func kicked(_ id: SessionID, _ room: RoomID, _ reason: KickReason, _ ext: String?) {
        guard let session = sessions[id] else { return }
        let isHere = session.isIn(room) || session.entering.contains { $0.room == room }
        let isEntering = session.isEntering(room)
        forget(room, session)
        // It may have been announced after it was put out.
        if awaited.awaits(room), !isEntering { leave(room, session) }
        // One that moves while it is put out may hear it twice.
        guard isHere else { return }
        var kicked = KickedPush(room: room, reason: reason)
        kicked.ext = ext
        if let connection = session.connection {
            connection.push(.kicked(kicked))
        } else {
            session.state.note(kicked)
        }
    }

    private func stay(_ stay: Stay, _ session: Session, in room: RoomID) {
        if !session.isIn(room) { roster.add(session, to: room, of: shared.shardMap.shard(of: room)) }
        session.state.stay(stay, in: room)
    }

    func forget(_ room: RoomID, _ session: Session) {
        if session.isIn(room) { roster.remove(session, from: room, of: shared.shardMap.shard(of: room)) }
        session.state.leave(room)
        session.enteredBy[room] = nil
        session.entering.removeAll { $0.room == room }
        session.state.losses.forget(room)
        if let connection = session.connection { stopViewing(room, connection) }
    }
}

extension Stay {
    /// What a session shows of itself that has entered.
    init(_ result: EnterResult, notifyExt: String?) {
        self.init(
            profile: result.me.profile, enteredAt: result.me.enteredAt ?? result.room.info.createdAt,
            notifyExt: notifyExt)
    }
}
