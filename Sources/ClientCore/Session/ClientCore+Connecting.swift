import ChatModel
import Wire

/// Making the connection and keeping it.
extension ClientCore {
    /// The connection that is open, authenticated or not.
    var connection: UInt64? {
        switch phase {
        case .opening(let connection, _), .authenticating(let connection, _), .online(let connection, _): connection
        case .idle, .findingAddress, .gettingToken, .waiting, .stopped: nil
        }
    }

    var onlineConnection: UInt64? { if case .online(let connection, _) = phase { connection } else { nil } }

    /// Whether the app wants to be connected and the client has not given up.
    var isRunning: Bool {
        switch phase {
        case .idle, .stopped: false
        default: true
        }
    }

    mutating func start(_ ticket: UInt64, _ now: ClientInstant) {
        if onlineConnection != nil { return complete(ticket, .done) }
        startTickets.append(ticket)
        guard !isRunning else { return }
        wasConnected = false
        tries = 0
        refusedTokens = 0
        backoff.succeed()
        backoff.forgetWindow()
        move(to: .connecting)
        attemptConnection(now)
    }

    // MARK: - Steps

    /// Whether one more try is allowed: after the first connection `reconnectRetryCount` of them, before it one more than
    /// `retryCount`.
    private var mayTry: Bool {
        let count = wasConnected ? settings.reconnectRetryCount : settings.retryCount
        return count < 0 || tries < (wasConnected ? count : count + 1)
    }

    mutating func attemptConnection(_ now: ClientInstant) {
        attempt += 1
        tries += 1
        hasFoundAddresses = false
        guard asksForAddresses else { return chooseAddress(now) }
        phase = .findingAddress(attempt: attempt, until: now.adding(milliseconds: settings.providerMilliseconds))
        effects.append(.findAddresses(attempt: attempt))
    }

    mutating func addressesCame(_ number: UInt64, _ urls: [String]?, _ now: ClientInstant) {
        guard case .findingAddress(number, _) = phase else { return }
        if let urls, !urls.isEmpty {
            foundAddresses = Array(urls.prefix(Self.addressesMax))
            hasFoundAddresses = true
        } else {
            log(.warning, "the address provider gave no address: using those known before")
        }
        chooseAddress(now)
    }

    /// The addresses in the order in which they are tried: where a `reconnect` push has sent the client, then what the
    /// provider has just given. Only when it gave nothing those that were known before: they may be out of date.
    private var addresses: [String] {
        let current =
            hasFoundAddresses ? foundAddresses : foundAddresses + knownGateways + configuredAddresses
        var all: [String] = []
        for url in namedGateways + current where !all.contains(url) { all.append(url) }
        return all
    }

    private mutating func chooseAddress(_ now: ClientInstant) {
        guard !addresses.isEmpty else {
            return attemptFailed(ClientError(.noAddress, "no address of a gateway is known"), now)
        }
        if settings.anonymous { return open(now) }
        phase = .gettingToken(attempt: attempt, until: now.adding(milliseconds: settings.providerMilliseconds))
        effects.append(.fetchToken(attempt: attempt))
    }

    mutating func tokenCame(_ number: UInt64, _ token: String?, _ now: ClientInstant) {
        guard case .gettingToken(number, _) = phase else { return }
        guard let token else {
            return attemptFailed(ClientError(.tokenUnavailable, "the token provider gave no token"), now)
        }
        self.token = token
        open(now)
    }

    private mutating func open(_ now: ClientInstant) {
        let all = addresses
        guard !all.isEmpty else { return }
        let url = all[addressIndex % all.count]
        phase = .opening(connection: attempt, until: now.adding(milliseconds: settings.connectMilliseconds))
        log(.info, "connecting to \(url)")
        effects.append(.open(connection: attempt, url: url))
    }

    mutating func opened(_ number: UInt64, _ now: ClientInstant) {
        guard case .opening(number, let until) = phase else { return }
        phase = .authenticating(connection: number, until: until)
        lastHeard = now
        var connect = ConnectRequest(session: session, device: settings.device)
        if settings.anonymous { connect.anonymous = true } else { connect.token = token }
        add(PendingRequest(.connect(connect), .connect, at: now), now)
    }

    mutating func connected(_ result: ConnectResult, _ now: ClientInstant) {
        guard case .authenticating(let number, _) = phase else { return }
        phase = .online(connection: number, since: now)
        session = result.session
        user = result.user
        wasConnected = true
        tries = 0
        refusedTokens = 0
        heartbeatMilliseconds = min(max(1, result.heartbeatSeconds), Self.heartbeatSecondsMax) * 1_000
        knownGateways = Array(result.gateways.prefix(Self.addressesMax))
        namedGateways = []
        log(.info, result.resumed ? "connected, session resumed" : "connected")
        move(to: .connected)
        for ticket in startTickets { complete(ticket, .done) }
        startTickets = []
        if result.resumed {
            for room in owedExits.sorted() where stays[room] == nil {
                add(PendingRequest(.exit(RoomNameRequest(room: room)), .exit, at: now), now)
            }
        }
        owedExits = []
        for room in stays.keys.sorted() { askToEnter(room, now) }
        transmit(now)
    }

    mutating func connectRefused(_ error: ChatError, _ now: ClientInstant) {
        guard case .authenticating(let number, _) = phase else { return }
        effects.append(.close(connection: number, code: 1000))
        switch error.code {
        case .unauthorized: tokenRefused(now)
        case .unavailable, .internal, .tooOften:
            if let asked = error.retryAfterMs { backoff.obey(retryAfterMilliseconds: asked) }
            attemptFailed(ClientError(error), now)
        default: giveUp(ClientError(error), now)
        }
    }

    private mutating func tokenRefused(_ now: ClientInstant) {
        refusedTokens += 1
        effects.append(.clientEvent(.tokenExpired))
        let error = ClientError(.unauthorized, "the token was refused")
        guard refusedTokens < Self.refusedTokensMax, !settings.anonymous else { return giveUp(error, now) }
        attemptFailed(error, now)
    }

    // MARK: - The end of a connection

    /// A try came to nothing.
    mutating func attemptFailed(_ error: ClientError, _ now: ClientInstant) {
        connectionEnded(now)
        log(.warning, "connecting failed: \(error.message)")
        backoff.fail()
        if !backoff.hasWindow { addressIndex &+= 1 }
        wait(error, now)
    }

    /// Tries again after a random time, if that is wanted.
    private mutating func wait(_ error: ClientError, _ now: ClientInstant) {
        guard mayTry else { return giveUp(error, now) }
        let milliseconds = backoff.next(using: &random)
        phase = .waiting(until: now.adding(milliseconds: milliseconds))
        log(.debug, "connecting again in \(milliseconds) ms")
    }

    mutating func closed(_ number: UInt64, code: UInt16?, reason: String, _ now: ClientInstant) {
        guard number == connection else { return }
        let words = "\(code.map(String.init) ?? "no close frame") \(reason)"
        switch CloseAdvice(closeCode: code) {
        case .forcedOffline:
            effects.append(.clientEvent(.forcedOffline))
            giveUp(ClientError(.forcedOffline, "the server put this user offline"), now)
        case .takenOver:
            effects.append(.clientEvent(.takenOver))
            giveUp(ClientError(.takenOver, "a newer connection has taken the session over"), now)
        case .mistake: giveUp(ClientError(.protocolViolation, "the server closed: \(words)"), now)
        case .renewToken:
            guard onlineConnection != nil else { return tokenRefused(now) }
            effects.append(.clientEvent(.tokenExpired))
            lost(words, now)
            // A token that ended in its time needs no wait; one that does not hold must not make a storm.
            if mayTry, backoff.failures == 0 { return attemptConnection(now) }
            wait(ClientError(.unauthorized, "the token has ended"), now)
        case .reconnect:
            guard onlineConnection != nil else {
                return attemptFailed(ClientError(.connectionFailed, "the connection was closed: \(words)"), now)
            }
            lost(words, now)
            wait(ClientError(.connectionLost, "the connection was lost: \(words)"), now)
        }
    }

    /// A connection that was up is gone.
    private mutating func lost(_ words: String, _ now: ClientInstant) {
        log(.info, "the connection is lost: \(words)")
        if case .online(_, let since) = phase, since.adding(milliseconds: Self.steadyMilliseconds) <= now {
            backoff.succeed()
        } else if !backoff.hasWindow {
            // One that does not hold is as good as none, unless the node asked to leave.
            backoff.fail()
            addressIndex &+= 1
        }
        connectionEnded(now)
        move(to: .lost)
    }

    /// Ends the connection from this side and makes another.
    mutating func drop(_ words: String, _ now: ClientInstant) {
        guard let number = connection else { return }
        effects.append(.close(connection: number, code: 1000))
        guard onlineConnection != nil else {
            return attemptFailed(ClientError(.connectionFailed, words), now)
        }
        lost(words, now)
        wait(ClientError(.connectionLost, words), now)
    }

    /// Leaves a node that asked for it.
    private mutating func moveOn(_ now: ClientInstant) {
        guard let number = onlineConnection else { return }
        effects.append(.close(connection: number, code: 1000))
        lost("moving to another node", now)
        // The wait was before.
        backoff.forgetWindow()
        if mayTry { return attemptConnection(now) }
        giveUp(ClientError(.connectionLost, "the node asked to connect elsewhere"), now)
    }

    /// Gives up everything that ended with the connection.
    private mutating func connectionEnded(_ now: ClientInstant) {
        phase = .idle
        moveAt = nil
        isPinged = false
        requestsLost(now)
        for room in stays.keys.sorted() { interrupt(room) }
    }

    /// Does not try any more.
    mutating func giveUp(_ error: ClientError, _ now: ClientInstant) {
        connectionEnded(now)
        phase = .stopped
        log(.error, "the client stops: \(error.message)")
        session = nil
        owedExits = []
        move(to: .failed(error))
        for room in stays.keys.sorted() { end(room, .failed(error), error) }
        failAll(error)
    }

    /// The app has done: leaves its rooms and closes.
    mutating func stop() {
        if let number = onlineConnection {
            for room in stays.keys.sorted() {
                let id = takeWireID()
                let request = ClientRequest(id: id, operation: .exit(RoomNameRequest(room: room)))
                effects.append(.write(connection: number, request))
            }
        }
        if let number = connection { effects.append(.close(connection: number, code: 1000)) }
        phase = .stopped
        session = nil
        owedExits = []
        moveAt = nil
        let error = ClientError(.closed, "the client was closed")
        for room in stays.keys.sorted() { end(room, .exited, error) }
        failAll(error)
        move(to: .closed)
    }

    private mutating func failAll(_ error: ClientError) {
        for ticket in startTickets { fail(ticket, error) }
        startTickets = []
        for serial in requests.keys.sorted() { abandon(serial, error) }
    }

    // MARK: - Time

    func isSilent(_ now: ClientInstant, heartbeats: Double) -> Bool {
        lastHeard.adding(milliseconds: Int64(Double(heartbeatMilliseconds) * heartbeats)) <= now
    }

    var connectionDeadline: ClientInstant? {
        switch phase {
        case .idle, .stopped: nil
        case .findingAddress(_, let until), .gettingToken(_, let until), .opening(_, let until),
            .authenticating(_, let until), .waiting(let until):
            until
        case .online:
            min(
                lastHeard.adding(milliseconds: Int64(Double(heartbeatMilliseconds) * (isPinged ? 2.5 : 1.25))),
                moveAt ?? ClientInstant(milliseconds: .max))
        }
    }

    mutating func connectionDeadline(_ now: ClientInstant) {
        guard let due = connectionDeadline, due <= now else { return }
        switch phase {
        case .idle, .stopped: return
        case .findingAddress:
            log(.warning, "the address provider took too long: using the addresses known before")
            chooseAddress(now)
        case .gettingToken: attemptFailed(ClientError(.tokenUnavailable, "the token provider took too long"), now)
        case .opening, .authenticating: drop("the server did not answer in time", now)
        case .waiting: attemptConnection(now)
        case .online:
            if let moveAt, moveAt <= now {
                moveOn(now)
            } else if isSilent(now, heartbeats: 2.5) {
                drop("nothing was heard for 2.5 heartbeats", now)
            } else if !isPinged {
                isPinged = true
                add(PendingRequest(.ping, .ping, at: now), now)
            }
        }
    }

    mutating func heard(_ number: UInt64, _ now: ClientInstant) {
        guard number == connection else { return }
        lastHeard = now
        isPinged = false
    }

    /// Tokens refused in a row before the client stops.
    private static let refusedTokensMax = 3
    static let addressesMax = 64
    private static let heartbeatSecondsMax: Int64 = 3_600
    /// A connection that held so long begins the back-off anew.
    private static let steadyMilliseconds: Int64 = 10_000
}
