import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Synchronization
import Telemetry
import Transport
import Wire

/// Connections become sessions: what `Login` says is carried out.
extension GatewayLane {
    func connect(_ request: ConnectRequest, _ id: UInt32?, _ connection: ClientConnection) {
        let steps = connection.login.onConnect(
            request, id: id, refusal: isDraining ? "this node is stopping" : refusalOfNewcomers
        ) {
            let isAdmitted = shared.admission.take(.connect, nowMilliseconds: loop.nowMilliseconds)
            if !isAdmitted { shared.figures.connectsPutOff.add() }
            return isAdmitted
        }
        perform(steps, on: connection)
    }

    private func perform(_ steps: [Login.Step], on connection: ClientConnection) {
        for step in steps {
            switch step {
            case .check(let token): check(token, for: connection)
            case .fetch(let held, let user): fetch(held, of: user, for: connection)
            case .begin(let session, let request, let claims): begin(session, request, claims, on: connection)
            case .reply(let id, let error): connection.reply(id, error: error)
            case .refuse(let id, let error): refuse(error, id, connection)
            case .turnAway(let reason, .tooMany):
                turnAway(
                    connection, reason,
                    waitMs: shared.admission.wait(.connect, nowMilliseconds: loop.nowMilliseconds))
            case .turnAway(let reason, .other): turnAway(connection, reason)
            case .keep(let session): keepUnlessRevoked(session)
            case .end(let session): end(keep(session))
            }
        }
    }

    private func check(_ token: String, for connection: ClientConnection) {
        connection.holdRequests()
        let verifier = shared.verifier
        let me = LoopBound(onLoop: self, loop: loop)
        let number = connection.number
        let devices = shared.devices
        Task {
            do throws(ChatError) {
                let claims = try await verifier.verify(token, skewSeconds: Limits.tokenSkewSeconds)
                await devices.learn(claims.user)
                me.loop.execute { me.value.checked(.success(claims), for: number) }
            } catch {
                let refusal = error
                me.loop.execute { me.value.checked(.failure(refusal), for: number) }
            }
        }
    }

    private func checked(_ result: Result<TokenClaims, ChatError>, for number: UInt64) {
        guard let connection = connections[number] else { return }
        perform(connection.login.onChecked(result), on: connection)
    }

    func refuse(_ error: ChatError, _ id: UInt32?, _ connection: ClientConnection) {
        connection.reply(id, error: error)
        guard error.code != .forbidden else { return connection.close(.forcedOffline, "banned") }
        shared.figures.refusedTokens.add()
        connection.close(.authentication, "authentication failed")
    }

    /// The session that a connection waits for has come, or nil.
    func found(_ session: Session?, for connection: ClientConnection) {
        let steps = connection.login.onFound(
            session,
            isRevoked: { shared.verifier.isRevoked($0.user, issuedAt: $0.issuedAt) },
            ban: { user in
                shared.verifier.sanction(.banned, of: user)?.refusal(of: user, .banned, at: shared.now())
            },
            takePlace: { user in
                let isTaken = takePlace(of: user, goingOn: session != nil)
                if isTaken { connection.places.user = user } else { shared.figures.userPutOff.add() }
                return isTaken
            })
        perform(steps, on: connection)
    }

    /// Takes a place of a user; false when there is none.
    /// - Parameter goesOn: whether the client goes on with a session that exists.
    private func takePlace(of user: UserID, goingOn goesOn: Bool) -> Bool {
        // Those in their grace are bounded, too: each has its place in its rooms for so long.
        let sessionsMax = configuration.connections.perUserMax * Self.sessionsPerConnection
        guard goesOn || shared.directory.count(of: user) < sessionsMax else { return false }
        return shared.budget.take(user)
    }

    /// So many sessions for each connection that a user may have, with those that wait for their clients to come back.
    private static let sessionsPerConnection = 4

    private func begin(
        _ resumed: Session?, _ request: Login.Request, _ claims: TokenClaims?, on connection: ClientConnection
    ) {
        let session = adopt(resumed ?? newSession(of: claims?.user, on: connection))
        session.connection = connection
        connection.session = session
        if request.connect.prime { connection.allowPrimers() }
        connection.connectDeadlineMilliseconds = nil
        var terms = Session.Connection(
            request: request.id, device: request.connect.device, encoding: connection.encoding, claims: claims)
        if claims == nil { terms.addressHash = AddressHash.of(connection.address) }
        noteDevice(of: session, request.connect.device)
        let greeting = Session.Greeting(
            heartbeatSeconds: configuration.heartbeatSeconds, gateways: gateways,
            features: shared.features.withLock { $0 }, devices: session.toldDevices)
        perform(
            session.state.onConnect(terms, greeting, at: shared.now(), nowMilliseconds: loop.nowMilliseconds),
            of: session)
        plan(connection)
        planToken(of: connection)
        connection.resumeRequests()
        // A ban or a revocation may have come after the login had looked, and before the directory knew the session.
        if claims != nil {
            revoke([session.id])
            sanction([session.id], .banned)
        }
    }

    /// - Parameter user: nil for an anonymous one.
    private func newSession(of user: UserID?, on connection: ClientConnection) -> Session {
        let isAnonymous = user == nil
        let now = shared.now()
        // From the system's generator, which is cryptographically secure on Linux.
        let (id, user) = shared.seal.make(
            for: user, at: configuration.node, startedAt: now, random: .random(in: .min ... .max))
        return Session(
            id: id, user: user, isAnonymous: isAnonymous, encoding: connection.encoding, startedAt: now,
            rates: Rates(configuration.rateLimits, nowMilliseconds: loop.nowMilliseconds))
    }

    // MARK: - Refresh

    func refresh(_ request: RefreshRequest, _ id: UInt32?, session: LaneSession, connection: ClientConnection) {
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

    func refreshed(_ id: UInt32?, _ number: UInt64, _ result: Result<TokenClaims, ChatError>) {
        // The connection may have gone, or have been taken over, while the token was checked.
        guard let connection = connections[number], case .open = connection.phase, let session = connection.session
        else { return }
        switch result {
        // While the token was checked it may have been revoked; then a session that relies on an older one is closed
        // already.
        case .success(let claims) where shared.verifier.isRevoked(claims.user, issuedAt: claims.issuedAt):
            connection.reply(id, error: ChatError(.unauthorized, "the token has been revoked"))
        case .success(let claims):
            perform(session.state.onRefresh(claims, request: id, at: shared.now()), of: session)
            planToken(of: connection)
        case .failure(let error):
            shared.figures.refusedTokens.add()
            connection.reply(id, error: error)
        }
        connection.resumeRequests()
    }
}
