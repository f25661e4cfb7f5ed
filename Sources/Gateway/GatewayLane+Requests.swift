import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Synchronization
import Telemetry
import Wire

/// Requests of clients. The gateway decides what concerns the session alone (who it is, how often it asks, which rooms
/// it is in) and passes the rest to the rooms' leaders.
extension GatewayLane {
    func handle(_ request: ClientRequest, from connection: ClientConnection) {
        if case .connect(let connect) = request.operation {
            return self.connect(connect, request.id, connection)
        }
        guard let session = connection.session else {
            return connection.reply(request.id, error: ChatError(.unauthorized, "connect first"))
        }
        switch request.operation {
        case .connect: break
        case .ping: connection.reply(request.id, .ping(PingResult(time: shared.now())))
        case .refresh(let refresh):
            do throws(ChatError) {
                // A signature is checked, which costs more than most that is asked.
                _ = try pay(for: request.operation, session)
                self.refresh(refresh, request.id, session: session, connection: connection)
            } catch {
                connection.reply(request.id, error: error)
            }
        default: callRoom(request, session, connection)
        }
    }

    private func callRoom(_ request: ClientRequest, _ session: LaneSession, _ connection: ClientConnection) {
        guard let room = request.operation.room else {
            return connection.reply(request.id, error: ChatError(.badParameter, "room is missing", field: "room"))
        }
        let refusal = request.operation.needsVoice ? refusal(of: session) : nil
        if case .barrage = request.operation, let refusal { return connection.reply(request.id, error: refusal) }
        if let refusal, case .tally(let tap) = request.operation, tap.clientID == nil {
            shared.figures.tapsDropped.add(Int(tap.delta))
            // Nobody waits for an answer without an ID.
            if request.id != nil { connection.reply(request.id, error: refusal) }
            return
        }
        if case .barrage(let barrage) = request.operation,
            sift(barrage, request.id, session: session, connection: connection)
        {
            return
        }
        switch decide(Session.Request(request.operation, to: room, id: request.id), session) {
        case .refuse(let error):
            if case .tally(let tap) = request.operation {
                shared.figures.tapsDropped.add(Int(tap.delta))
                // Nobody waits for an answer.
                if request.id == nil { return }
            }
            connection.reply(request.id, error: error)
        case .ask(let asked):
            if case .tally(let tap) = request.operation, take(tap, asked.number, session) { return }
            // A repeat of what has been answered gets its answer all the same, so the room's leader refuses it.
            let origin = SessionOrigin(
                address(of: session), session.state.caller, request: asked.number, number: asked.count,
                rooms: asked.rooms, overRateMs: asked.overRateMs, refusal: refusal)
            call(RoomRequest(room: room, from: origin, .operation(request.operation)))
        }
    }

    /// Why the session's user may not speak in any room.
    private func refusal(of session: LaneSession) -> ChatError? {
        guard let mute = session.mute else { return nil }
        let now = shared.now()
        guard mute.isInForce(at: now) else {
            session.mute = nil
            return nil
        }
        return mute.refusal(of: session.state.caller.user, .muted, at: now)
    }

    private func decide(_ request: Session.Request, _ session: LaneSession) -> Session.Decision {
        let limits = SessionLimits(
            roomsMax: configuration.roomsPerSessionMax, allowAnonymous: configuration.allowAnonymous)
        if case .barrage = request.operation { return session.state.onUnratedRequest(request, limits) }
        let now = loop.nowMilliseconds
        return shared.userRates.withLock {
            session.state.onRequest(request, limits, users: &$0, nowMilliseconds: now, admit: overload)
        }
    }

    /// More enter rooms at once than the node takes.
    private func overload() -> ChatError? {
        let now = loop.nowMilliseconds
        guard !shared.admission.take(.enter, nowMilliseconds: now) else { return nil }
        shared.figures.entersPutOff.add()
        return ChatError(
            .unavailable, "too many clients enter rooms at once",
            retryAfterMs: shared.admission.wait(.enter, nowMilliseconds: now))
    }
}
