import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Wire

/// A client that comes back with the session that it held before: on this lane, on another one, or at another node
/// (PROTOCOL.md, "Resume").
extension GatewayLane {
    /// Looks for the session that a client holds, wherever it is.
    /// - Parameter user: whose session it must be; nil: an anonymous one.
    func fetch(_ held: SessionID?, of user: UserID?, for connection: ClientConnection) {
        guard let held else { return found(nil, for: connection) }
        let me = LoopBound(onLoop: self, loop: loop)
        let connectionNumber = connection.number
        guard let lane = shared.directory.lane(of: held) else {
            return fetchFromElsewhere(held, of: user, for: connection)
        }
        guard lane != number else { return found(giveAway(held, to: user), for: connection) }
        connection.holdRequests()
        let other = shared.lanes.withLock { $0[lane] }
        other.loop.execute {
            let session = other.value.giveAway(held, to: user)
            me.loop.execute { me.value.received(session, for: connectionNumber) }
        }
    }

    private func fetchFromElsewhere(_ held: SessionID, of user: UserID?, for connection: ClientConnection) {
        connection.holdRequests()
        let me = LoopBound(onLoop: self, loop: loop)
        let connectionNumber = connection.number
        let patience = LoopBound(
            onLoop: loop.schedule(afterMilliseconds: Self.takingOverMilliseconds) { [unowned self] in
                received(nil, for: connectionNumber)
            }, loop: loop)
        let (elsewhere, limits, now) = (shared.elsewhere, configuration.rateLimits, loop.nowMilliseconds)
        Task {
            let taken = await elsewhere.take(held, for: user)
            let session = taken.map {
                Session($0.session, id: held, from: $0.from, rates: Rates(limits, nowMilliseconds: now))
            }
            me.loop.execute {
                patience.value.cancel()
                me.value.received(session, for: connectionNumber)
            }
        }
    }

    /// For so long a client waits for its session to come from another node; then it begins a new one. Longer than a
    /// silent link is kept: who first waited for a node that hangs still gets the session from the one that holds it.
    private static let takingOverMilliseconds: UInt64 = 6_000

    /// - Parameter number: of the connection that waits, or has waited.
    func received(_ session: Session?, for number: UInt64) {
        if let connection = connections[number] {
            found(session, for: connection)
        } else if let session {
            keepUnlessRevoked(session)
        }
        if let session { endIfPutOffline(session.id) }
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
    private func giveAway(_ id: SessionID, to user: UserID?) -> Session? {
        guard let session = sessions[id], session.state.mayBeTaken(by: user) else { return nil }
        sessions[id] = nil
        for room in session.state.rooms { roster.remove(session, from: room, of: shared.shardMap.shard(of: room)) }
        // Not away: it goes on elsewhere at once.
        session.connection?.session = nil
        let now = loop.nowMilliseconds
        let effects = shared.userRates.withLock { session.state.move(users: &$0, nowMilliseconds: now) }
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
        // Asked again, an enter would bring it back here.
        open.forget(id)
        let end = loop.nowMilliseconds + UInt64(configuration.graceSeconds) * 1000
        handedOver.append(HandedOver(session: id, caller: state.caller, rooms: state.rooms, until: end))
        return shared.userRates.withLock { state.handed(users: $0, nowMilliseconds: loop.nowMilliseconds) }
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
