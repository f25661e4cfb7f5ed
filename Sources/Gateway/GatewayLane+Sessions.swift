import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Wire

/// Carries out the effects of sessions (`Session`).
extension GatewayLane {
    func perform(_ effects: [Session.Effect], of session: LaneSession) {
        for effect in effects { perform(effect, of: session) }
    }

    private func perform(_ effect: Session.Effect, of session: LaneSession) {
        switch effect {
        case .notify(let room, let news): notify(room, news, of: session)
        case .joined(let room): roster.add(session, to: room, of: shared.shardMap.shard(of: room))
        case .parted(let room):
            roster.remove(session, from: room, of: shared.shardMap.shard(of: room))
            if let connection = session.connection { stopViewing(room, connection) }
        case .heard(let room, let seq): roster.hear(seq, of: room)
        case .view(let entry): if let connection = session.connection { view(entry, connection) }
        case .announce(let room): unknown[room, default: []].insert(session.id)
        case .reply(let id, let result): session.connection?.reply(id, result)
        case .push(let push): session.connection?.push(push)
        case .close(let code, let reason): session.connection?.close(code, reason)
        case .wake(let milliseconds): if let connection = session.connection { wake(milliseconds, connection) }
        }
    }

    private func notify(_ room: RoomID, _ news: Session.RoomNews, of session: LaneSession) {
        let caller = session.state.caller
        let body: RoomRequest.Body
        switch news {
        case .left: return leave(room, session.id, caller)
        case .away: body = .away
        case .moved(let node): body = .moved(from: node)
        }
        call(RoomRequest(room: room, from: SessionOrigin(address(of: session), caller), body))
    }

    /// The viewer has its reply, and then what the room shows.
    private func view(_ entry: Session.Entry, _ connection: ClientConnection) {
        let (room, result) = (entry.room, entry.result)
        settle(connection, in: room)
        if let missedAfter = entry.missedAfter {
            connection.reply(entry.request, result, missed: missed.messages(of: room, after: missedAfter))
        } else {
            connection.reply(entry.request, .enter(result))
        }
        let isAway = isAwayForNewcomer(room)
        let hub = hubs[room] ?? Hub(room: room, lane: self)
        hubs[room] = hub
        hub.add(connection)
        if isAway { connection.push(.state(StatePush(room: room, state: .lost))) }
        hub.isMuted = result.room.info.muted
        hub.shown.enter(at: StreamPlace(epoch: result.epoch, seq: result.seq))
    }

    private func wake(_ milliseconds: UInt64, _ connection: ClientConnection) {
        let number = connection.number
        loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, let session = connections[number]?.session else { return }
            perform(session.state.onLastMoment(at: shared.now()), of: session)
        }
    }

    // MARK: - Beginning and end

    func adopt(_ state: Session) -> LaneSession {
        let session = LaneSession(state)
        let now = loop.nowMilliseconds
        shared.userRates.withLock { session.state.takeUp(users: &$0, nowMilliseconds: now) }
        sessions[session.id] = session
        for room in state.rooms { roster.add(session, to: room, of: shared.shardMap.shard(of: room)) }
        shared.directory.put(session.id, of: state.caller.user, on: number)
        // After the directory knows it: a change that is told from here on finds it.
        if !state.caller.anonymous { session.mute = shared.verifier.sanction(.muted, of: state.caller.user) }
        return session
    }

    /// Takes a session up without its client, who went again: it is in its grace.
    @discardableResult
    func keep(_ state: Session) -> LaneSession {
        let session = adopt(state)
        noteDevice(of: session, state.caller.device)
        perform(session.state.onArriveAlone(nowMilliseconds: loop.nowMilliseconds), of: session)
        planGrace(of: session)
        return session
    }

    func keepUnlessRevoked(_ state: Session) {
        let session = keep(state)
        if isRevoked(session.state) { end(session) }
    }

    func isRevoked(_ state: Session) -> Bool {
        !state.caller.anonymous
            && (shared.verifier.isRevoked(state.caller.user, issuedAt: state.issuedAt)
                || shared.verifier.sanction(.banned, of: state.caller.user) != nil)
    }

    func leave(_ room: RoomID, _ session: SessionID, _ caller: Caller) {
        let address = SessionAddress(node: configuration.node, lane: number, session: session, encoding: .json)
        call(RoomRequest(room: room, from: SessionOrigin(address, caller), .leave))
    }

    func address(of session: LaneSession) -> SessionAddress {
        SessionAddress(
            node: configuration.node, lane: number, session: session.id, encoding: session.state.encoding)
    }
}
