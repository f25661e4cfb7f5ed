import ChatModel
import EventLoop
import RoomLink
import SessionCore
import Synchronization
import Telemetry
import Wire

/// What clients ask. The gateway decides what concerns the session alone (who it is, how often it asks, which rooms it
/// is in) and passes the rest to the rooms' leaders.
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
                self.refresh(refresh, request.id, session, connection)
            } catch {
                connection.reply(request.id, error: error)
            }
        default: callRoom(request, session, connection)
        }
    }

    private func callRoom(_ request: ClientRequest, _ session: Session, _ connection: ClientConnection) {
        guard let room = request.operation.room else {
            return connection.reply(request.id, error: ChatError(.badParameter, "room is missing", field: "room"))
        }
        if case .barrage(let barrage) = request.operation, sift(barrage, request.id, session, connection) { return }
        let cost: OpenCost?
        do throws(ChatError) {
            cost = try pay(for: request.operation, session)
        } catch {
            return connection.reply(request.id, error: error)
        }
        if let refusal = refusal(of: request.operation, room, session) {
            if let cost { settle(cost.cost, of: session, copied: 0) }
            return connection.reply(request.id, error: refusal)
        }
        let number = session.state.requests.begin(request.id)
        if let number, let cost, cost.cost != .read { session.costs[number] = cost }
        var call = RoomCall(
            room: room, address: address(of: session), caller: session.state.caller, request: number,
            number: session.state.requests.count, body: .operation(request.operation),
            rooms: request.operation.namesMessages ? session.state.rooms : [])
        call.overRateMs = cost?.overRateMs
        self.call(call)
    }

    /// The checks that need no room, but for rates: being in the room, how many rooms.
    private func refusal(of operation: ClientOperation, _ room: RoomID, _ session: Session) -> ChatError? {
        if case .enter(let enter) = operation { return enterRefusal(enter, session) }
        if session.state.caller.anonymous, !operation.row.isOpenToAnonymous {
            return ChatError(.forbidden, "anonymous members only listen")
        }
        guard session.isIn(room) || session.isEntering(room) else {
            return ChatError(.notInRoom, "\(session.state.caller.user) is not in \(room)")
        }
        return nil
    }

    private func enterRefusal(_ request: EnterRequest, _ session: Session) -> ChatError? {
        let caller = session.state.caller
        let room = request.room
        if caller.anonymous, !configuration.allowAnonymous {
            return ChatError(.forbidden, "anonymous clients may not enter rooms here")
        }
        if let allowed = caller.rooms, !allowed.contains(room) {
            return ChatError(.forbidden, "the token does not allow room \(room)", field: "room")
        }
        guard !session.isIn(room), !session.isEntering(room) else { return overload() }
        guard session.state.rooms.count + session.entering.count < configuration.roomsPerSessionMax else {
            return ChatError(
                .tooManyRooms, "a session can be in \(configuration.roomsPerSessionMax) rooms", retryAfterMs: 1000)
        }
        if let refusal = overload() { return refusal }
        session.entering.append((room, request.notifyExt))
        return nil
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

    // MARK: - connect and refresh

    private func connect(_ request: ConnectRequest, _ id: UInt32?, _ connection: ClientConnection) {
        guard connection.session == nil else {
            return connection.reply(id, error: ChatError(.conflict, "this connection is connected already"))
        }
        guard shared.admission.take(.connect, nowMilliseconds: loop.nowMilliseconds) else {
            shared.figures.connectsPutOff.add()
            return turnAway(
                connection, "too many clients connect at once",
                waitMs: shared.admission.wait(.connect, nowMilliseconds: loop.nowMilliseconds))
        }
        guard !isCutOff else { return turnAway(connection, "this node is cut off from its cluster") }
        if request.anonymous {
            return takeOver(request, id, connection, claims: nil)
        }
        guard let token = request.token else {
            return refuse(ChatError(.unauthorized, "a token is needed", field: "token"), id, connection)
        }
        connection.holdRequests()
        let verifier = shared.verifier
        let me = LoopBound(onLoop: self, loop: loop)
        let number = connection.number
        let skewSeconds = Self.skewSeconds
        Task {
            do throws(ChatError) {
                let claims = try await verifier.verify(token, skewSeconds: skewSeconds)
                me.loop.execute { me.value.verified(request, id, number, .success(claims)) }
            } catch {
                let refusal = error
                me.loop.execute { me.value.verified(request, id, number, .failure(refusal)) }
            }
        }
    }

    /// So many sessions for each connection that a user may have, with those that wait for their clients to come back.
    private static let sessionsPerConnection = 4

    /// Clock skew allowed when connecting, and only then (contract, section 3).
    private static let skewSeconds: Int64 = 30

    private func verified(
        _ request: ConnectRequest, _ id: UInt32?, _ number: UInt64, _ result: Result<TokenClaims, ChatError>
    ) {
        guard let connection = connections[number], case .open = connection.phase else { return }
        switch result {
        case .success(let claims): takeOver(request, id, connection, claims: claims)
        case .failure(let error) where error.code == .unavailable:
            // Not the token's fault: the client is to come again with it, here or at another node.
            connection.reply(id, error: error)
            turnAway(connection, "tokens can't be checked at the moment")
        case .failure(let error): refuse(error, id, connection)
        }
    }

    func refuse(_ error: ChatError, _ id: UInt32?, _ connection: ClientConnection) {
        shared.figures.refusedTokens.add()
        connection.reply(id, error: error)
        connection.close(.authentication, "authentication failed")
    }

    func begin(
        _ request: ConnectRequest, _ id: UInt32?, _ connection: ClientConnection, _ claims: TokenClaims?,
        resumed: SessionState?
    ) {
        // Revoked while the token was checked, or while the session was on its way from another lane.
        if let claims, shared.verifier.isRevoked(claims.user, issuedAt: claims.issuedAt) {
            if let resumed { end(keep(resumed)) }
            return refuse(ChatError(.unauthorized, "the token has been revoked"), id, connection)
        }
        if let user = claims?.user {
            // Those in their grace are bounded, too: each has its place in its rooms for so long.
            let hasPlace =
                resumed != nil
                || shared.directory.count(of: user) < configuration.connections.perUserMax * Self.sessionsPerConnection
            guard hasPlace, shared.budget.take(user) else {
                // A session that was to be resumed keeps its grace.
                if let resumed { keep(resumed) }
                return turnAway(connection, "\(user) has too many connections")
            }
            connection.places.user = user
        }
        let device = request.device
        var caller: Caller
        if let claims {
            caller = Caller(
                user: claims.user, anonymous: false, device: device, rooms: claims.rooms,
                tokenProfile: Profile(nick: claims.nick, avatar: claims.avatar))
        } else {
            let user = resumed?.caller.user ?? Self.anonymousUser()
            caller = Caller(user: user, anonymous: true, device: device)
            caller.addressHash = AddressHash.of(connection.address)
        }
        var state =
            resumed
            ?? SessionState(
                id: newSessionID(), caller: caller, encoding: connection.encoding, startedAt: shared.now())
        state.caller = caller
        state.encoding = connection.encoding
        state.hold(claims, at: shared.now())
        let untold = state.takeUntoldKicks()
        let session = adopt(state)
        session.connection = connection
        connection.session = session
        connection.connectDeadlineMilliseconds = nil
        if resumed != nil { tellMoved(session) }
        var result = ConnectResult(session: session.id, user: caller.user, time: shared.now())
        result.anonymous = caller.anonymous
        result.heartbeatSeconds = configuration.heartbeatSeconds
        result.gateways = gateways
        result.resumed = resumed != nil
        // In front of the reply, on which clients enter their rooms again.
        for kick in untold { connection.push(.kicked(kick)) }
        endForbiddenStays(of: session)
        connection.reply(id, .connect(result))
        warnOfExpiry(session, at: shared.now())
        connection.resumeRequests()
    }

    private func refresh(
        _ request: RefreshRequest, _ id: UInt32?, _ session: Session, _ connection: ClientConnection
    ) {
        guard !session.state.caller.anonymous else {
            return connection.reply(id, error: ChatError(.forbidden, "an anonymous session has no token"))
        }
        connection.holdRequests()
        let verifier = shared.verifier
        let me = LoopBound(onLoop: self, loop: loop)
        let number = connection.number
        let user = session.state.caller.user
        Task {
            var result: Result<TokenClaims, ChatError>
            do throws(ChatError) {
                let claims = try await verifier.verify(request.token, skewSeconds: 0)
                result = .success(claims)
                if claims.user != user { result = .failure(ChatError(.unauthorized, "the token is another user's")) }
            } catch {
                result = .failure(error)
            }
            me.loop.execute { [result] in me.value.refreshed(id, number, result) }
        }
    }

    private func refreshed(_ id: UInt32?, _ number: UInt64, _ result: Result<TokenClaims, ChatError>) {
        // The connection may have gone, or have been taken over, while the token was checked.
        guard let connection = connections[number], case .open = connection.phase, let session = connection.session
        else { return }
        switch result {
        case .success(let claims):
            // While the token was checked it may have been revoked; then a session that relies on an older one is closed
            // already.
            guard !shared.verifier.isRevoked(claims.user, issuedAt: claims.issuedAt) else {
                connection.reply(id, error: ChatError(.unauthorized, "the token has been revoked"))
                break
            }
            session.state.hold(claims, at: shared.now())
            session.state.caller.rooms = claims.rooms
            connection.reply(id, .refresh(RefreshResult(expiresAt: claims.expiresAt)))
            endForbiddenStays(of: session)
            warnOfExpiry(session, at: shared.now())
        case .failure(let error):
            shared.figures.refusedTokens.add()
            connection.reply(id, error: error)
        }
        connection.resumeRequests()
    }

    /// From the system's generator, which is cryptographically secure on Linux.
    private func newSessionID() -> SessionID {
        SessionID(random: (.random(in: .min ... .max), .random(in: .min ... .max)), at: configuration.node)
    }

    private static func anonymousUser() -> UserID {
        guard let user = UserID("anon-\(randomHex())") else { preconditionFailure("anon- and hex are a user ID") }
        return user
    }

    /// 64 bits of the system's generator, which is cryptographically secure on Linux.
    private static func randomHex() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
