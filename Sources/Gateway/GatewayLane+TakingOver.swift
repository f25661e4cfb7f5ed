import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Telemetry
import Wire

/// A client that comes back with the session that it held before: on this lane, on another one, or at another node
/// (PROTOCOL.md, "Resume").
extension GatewayLane {
    /// Looks for the session that a client holds, wherever it is.
    /// - Parameter user: whose session it must be; nil: an anonymous one.
    /// - Parameter isLate: it was looked for elsewhere, and a connection that began after this one keeps it.
    func fetch(_ held: SessionID?, of user: UserID?, for connection: ClientConnection, isLate: Bool = false) {
        guard let held else { return found(nil, for: connection) }
        let me = LoopBound(onLoop: self, loop: loop)
        let connectionNumber = connection.number
        guard let lane = shared.directory.lane(of: held) else {
            return fetchFromElsewhere(held, of: user, for: connection)
        }
        let begunAt = isLate ? connection.begunAtMilliseconds : nil
        guard lane != number else { return found(giveAway(held, to: user, before: begunAt), for: connection) }
        connection.holdRequests()
        let other = shared.lanes.withLock { $0[lane] }
        other.loop.execute {
            let session = other.value.giveAway(held, to: user, before: begunAt)
            me.loop.execute { me.value.received(session, for: connectionNumber) }
        }
    }

    private func fetchFromElsewhere(_ held: SessionID, of user: UserID?, for connection: ClientConnection) {
        connection.holdRequests()
        let me = LoopBound(onLoop: self, loop: loop)
        let connectionNumber = connection.number
        let isKnown = shared.seal.open(held, of: user) != nil
        let wait = isKnown ? Self.holderMilliseconds : Self.takingOverMilliseconds
        let patience = LoopBound(
            onLoop: loop.schedule(afterMilliseconds: wait) { [unowned self] in
                missed(held, of: user, for: connectionNumber)
            }, loop: loop)
        let elsewhere = shared.elsewhere
        Task {
            let search = await elsewhere.take(held, for: user)
            me.loop.execute {
                patience.value.cancel()
                me.value.ended(search, of: held, user, for: connectionNumber)
            }
        }
    }

    /// For so long a client waits for its session to come from another node; then it begins a new one. Longer than a
    /// silent link is kept: who first waited for a node that hangs still gets the session from the one that holds it.
    private static let takingOverMilliseconds: UInt64 = 6_000
    /// The same for a session that need not come, since its ID tells enough: a node that does not answer for so long
    /// can't be reached. A session that comes later all the same is dropped, as it is here.
    private static let holderMilliseconds: UInt64 = 2_000

    private func ended(_ search: SessionSearch, of held: SessionID, _ user: UserID?, for number: UInt64) {
        // Another connection of the client may have had it taken up here meanwhile.
        guard !takeFromHere(held, of: user, for: number) else { return }
        switch search {
        case .nobody:
            guard shared.seal.open(held, of: user) != nil else { return received(nil, for: number) }
            // The node that had it may have given it to another connection, whose search ends in this moment.
            loop.schedule(afterMilliseconds: Self.crossingMilliseconds) { [weak self] in
                guard let self, !takeFromHere(held, of: user, for: number) else { return }
                received(nil, for: number)
            }
        case .unreached: missed(held, of: user, for: number)
        case .found(let node, let handed):
            let rates = Rates(configuration.rateLimits, nowMilliseconds: loop.nowMilliseconds)
            received(Session(handed, id: held, from: node, rates: rates), for: number)
        }
    }

    /// Goes on with the session where it is on this node, if it is. A connection that has it is closed as taken over.
    private func takeFromHere(_ held: SessionID, of user: UserID?, for number: UInt64) -> Bool {
        guard shared.directory.lane(of: held) != nil else { return false }
        // One that has begun already, be it with this session, waits for nothing.
        guard let connection = connections[number], connection.login.isFetching else { return true }
        fetch(held, of: user, for: connection, isLate: true)
        return true
    }

    private static let crossingMilliseconds: UInt64 = 50

    /// The session's holder can't be reached: its ID tells that it is one of this cluster's, and whose it is. A session
    /// that has been put offline or revoked is not taken up.
    private func missed(_ held: SessionID, of user: UserID?, for number: UInt64) {
        guard let connection = connections[number], connection.login.isFetching,
            !takeFromHere(held, of: user, for: number)
        else { return }
        let now = shared.now()
        guard let opened = shared.seal.open(held, of: user),
            !shared.directory.isToEnd(held, of: opened.user, startedAt: opened.startedAt, at: configuration.node),
            !shared.verifier.isRevoked(opened.user, issuedAt: opened.startedAt)
        else { return received(nil, for: number) }
        let session = Session(
            revived: held, user: opened.user, isAnonymous: user == nil, startedAt: opened.startedAt, at: now,
            rates: Rates(configuration.rateLimits, nowMilliseconds: loop.nowMilliseconds))
        shared.figures.revivedSessions.add()
        shared.elsewhere.tookOver(TakenSession(session: held, at: now))
        received(session, for: number)
    }

    /// - Parameter number: of the connection that waits, or has waited.
    func received(_ session: Session?, for number: UInt64) {
        if let connection = connections[number] {
            found(session, for: connection)
        } else if let session {
            keepUnlessRevoked(session)
        }
        if let session { endIfPutOffline(session.id) }
    }

    /// Another node has taken the session up. An older copy of it here has nothing to say any more.
    func end(copyOf taken: TakenSession) {
        guard let session = sessions[taken.session], (session.state.caller.revivedAt ?? Timestamp(.min)) < taken.at
        else {
            return
        }
        _ = release(session)
        shared.directory.remove(taken.session)
        shared.devices.remove(taken.session, of: session.state.caller.user)
        // Asked again, an enter would bring it back here.
        open.forget(taken.session)
    }

    /// A call that puts a session offline finds it where it is held, but not on its way.
    private func endIfPutOffline(_ id: SessionID) {
        guard let session = sessions[id],
            shared.directory.isToEnd(
                id, of: session.state.caller.user, startedAt: session.state.startedAt, at: configuration.node)
        else { return }
        _ = forceOffline([id])
    }

    /// Ends this lane's hold on a session, if `user` may have it (nil: an anonymous one).
    /// - Parameter before: the connection that has it must not have begun later; nil: that does not matter.
    private func giveAway(_ id: SessionID, to user: UserID?, before begunAt: UInt64? = nil) -> Session? {
        guard let session = sessions[id], session.state.mayBeTaken(by: user) else { return nil }
        if let begunAt, let holder = session.connection, holder.begunAtMilliseconds > begunAt { return nil }
        return release(session)
    }

    private func release(_ session: LaneSession) -> Session {
        sessions[session.id] = nil
        agenda.forget(session.id)
        for room in session.state.rooms { roster.remove(session, from: room, of: shared.shardMap.shard(of: room)) }
        // Not away: it goes on elsewhere at once.
        session.connection?.session = nil
        let (heardAt, now) = (session.connection?.heartbeat.heardAtMilliseconds, loop.nowMilliseconds)
        let effects = shared.userRates.withLock {
            session.state.move(users: &$0, heardAt: heardAt, nowMilliseconds: now)
        }
        perform(effects, of: session)
        session.connection = nil
        return session.state
    }

    // MARK: - To another node

    /// Gives a session up for good. Its rooms are told by whoever has it then; if that does not come about, they see it
    /// leave when its grace has passed.
    func migrateSession(_ id: SessionID, to user: UserID?) -> HandedSession? {
        guard let state = giveAway(id, to: user) else { return nil }
        shared.directory.remove(id)
        shared.devices.remove(id, of: state.caller.user)
        // Asked again, an enter would bring it back here.
        open.forget(id)
        let end = loop.nowMilliseconds + UInt64(configuration.graceSeconds) * 1000
        handedOver.append(HandedOver(session: id, caller: state.caller, rooms: state.rooms, until: end))
        return shared.userRates.withLock { state.handed(users: $0, nowMilliseconds: loop.nowMilliseconds) }
    }

    /// Once a second. A leave says nothing to a room that knows where the session is.
    func endHandOvers(at now: UInt64) {
        while let item = handedOver.first, item.until <= now {
            handedOver.removeFirst()
            guard shared.directory.lane(of: item.session) == nil else { continue }
            for room in item.rooms { leave(room, item.session, item.caller) }
        }
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
