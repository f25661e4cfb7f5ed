import ChatModel
import EventLoop
import RoomLink
import SessionCore
import Sharding
import Synchronization
import Wire

/// A client that comes back with the session that it held before: on this lane, on another one, or at another node
/// (contract, "Resume").
extension GatewayLane {
    /// Looks for the session, wherever it is.
    func takeOver(_ request: ConnectRequest, _ id: UInt32?, _ connection: ClientConnection, claims: TokenClaims?) {
        guard let held = request.session else { return begin(request, id, connection, claims, resumed: nil) }
        let user = claims?.user
        let me = LoopBound(onLoop: self, loop: loop)
        let connectionNumber = connection.number
        guard let lane = shared.directory.lane(of: held) else {
            connection.holdRequests()
            let patience = LoopBound(
                onLoop: loop.schedule(afterMilliseconds: Self.takingOverMilliseconds) { [unowned self] in
                    received(nil, request, id, connectionNumber, claims)
                }, loop: loop)
            let elsewhere = shared.elsewhere
            Task {
                let taken = await elsewhere.take(held, for: user)
                let state = taken.map { SessionState($0.session, id: held, from: $0.from) }
                me.loop.execute {
                    patience.value.cancel()
                    me.value.received(state, request, id, connectionNumber, claims)
                }
            }
            return
        }
        guard lane != number else {
            return begin(request, id, connection, claims, resumed: giveAway(held, to: user))
        }
        connection.holdRequests()
        let other = shared.lanes.withLock { $0[lane] }
        other.loop.execute {
            let state = other.value.giveAway(held, to: user)
            me.loop.execute { me.value.received(state, request, id, connectionNumber, claims) }
        }
    }

    /// For so long a client waits for its session to come from another node; then it begins a new one. Longer than a
    /// silent link is kept: who first waited for a node that hangs still gets the session from the one that holds it.
    private static let takingOverMilliseconds: UInt64 = 6_000

    func received(
        _ state: SessionState?, _ request: ConnectRequest, _ id: UInt32?, _ number: UInt64, _ claims: TokenClaims?
    ) {
        guard let connection = connections[number], case .open = connection.phase, connection.session == nil else {
            // The client went while its session was on the way, or has begun another one after waiting too long. Nobody
            // else has it any more: it has its grace here.
            if let state {
                let session = keep(state)
                if isRevoked(session.state) { end(session) } else { endIfPutOffline(session.id) }
            }
            return
        }
        begin(request, id, connection, claims, resumed: state)
        if let state { endIfPutOffline(state.id) }
    }

    /// Who puts a session offline finds it where it is held, but not on its way.
    private func endIfPutOffline(_ id: SessionID) {
        guard let session = sessions[id],
            shared.directory.isToEnd(
                id, of: session.state.caller.user, startedAt: session.state.startedAt, at: configuration.node)
        else { return }
        _ = forceOffline([id])
    }

    /// Ends this lane's hold on a session, if `user` may have it (nil: an anonymous one, which only knows its secret).
    private func giveAway(_ id: SessionID, to user: UserID?) -> SessionState? {
        guard let session = sessions[id] else { return nil }
        let caller = session.state.caller
        guard user.map({ !caller.anonymous && caller.user == $0 }) ?? caller.anonymous else { return nil }
        if let old = session.connection {
            // Not away: it goes on elsewhere at once.
            old.session = nil
            session.connection = nil
            old.close(.takenOver, "taken over by a newer connection")
        }
        sessions[id] = nil
        isGone(session)
        settleOpenCosts(of: session)
        session.state.requests.connectionEnded()
        // What it lost until now is part of what a resume brings back.
        session.state.losses = Losses()
        return session.state
    }

    func adopt(_ state: SessionState) -> Session {
        let session = Session(state: state, rates: rates(of: state))
        session.state.handedLevels = nil
        sessions[session.id] = session
        for room in state.rooms { roster.add(session, to: room, of: shared.shardMap.shard(of: room)) }
        shared.directory.put(session.id, of: state.caller.user, on: number)
        return session
    }

    /// Takes a session up without its client, who went again: it is in its grace.
    @discardableResult
    func keep(_ state: SessionState) -> Session {
        let session = adopt(state)
        session.awaySinceMilliseconds = loop.nowMilliseconds
        tellMoved(session)
        for room in session.state.rooms {
            call(
                RoomCall(
                    room: room, address: address(of: session), caller: state.caller, request: nil, body: .away))
        }
        return session
    }

    /// Its rooms are told where it is from now on.
    func tellMoved(_ session: Session) {
        let former = session.state.formerNode
        session.state.formerNode = nil
        for room in session.state.rooms {
            call(
                RoomCall(
                    room: room, address: address(of: session), caller: session.state.caller, request: nil,
                    body: .moved(from: former)))
        }
    }

    // MARK: - To another node

    /// Gives a session up for good. Its rooms are told by whoever has it then; if that does not come about, they see it
    /// leave when its grace has passed.
    func handOver(_ id: SessionID, to user: UserID?) -> HandedSession? {
        guard let state = giveAway(id, to: user) else { return nil }
        shared.directory.remove(id)
        // Asked again, an enter would bring it back here.
        open.forget(id)
        let end = loop.nowMilliseconds + UInt64(configuration.graceSeconds) * 1000
        handedOver.append(HandedOver(session: id, caller: state.caller, rooms: state.rooms, until: end))
        let user = state.caller.user
        let now = loop.nowMilliseconds
        let userLevels = shared.userRates.withLock { $0.levels(of: user, nowMilliseconds: now) }
        return state.handed(userLevels: userLevels, nowMilliseconds: now)
    }

    /// Once a second. A leave says nothing to a room that knows where the session is.
    func endHandOvers(at now: UInt64) {
        guard !handedOver.isEmpty else { return }
        let due = handedOver.firstIndex { $0.until > now } ?? handedOver.endIndex
        for item in handedOver.prefix(due) where shared.directory.lane(of: item.session) == nil {
            for room in item.rooms { leave(room, item.session, item.caller) }
        }
        handedOver.removeFirst(due)
    }
}

/// A session that another node was given, until its rooms must have heard of it.
struct HandedOver {
    var session: SessionID
    var caller: Caller
    var rooms: [RoomID]
    /// In loop time; later ones are behind it.
    var until: UInt64
}
