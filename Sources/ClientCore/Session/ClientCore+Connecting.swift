import ChatModel
import Wire

/// Making a connection: the first one, the one after a loss, or the successor of one that is in use.
extension ClientCore {
    /// The attempt under way. Without one: the phase of the client.
    var trying: Phase {
        get { successor ?? phase }
        set { if successor == nil { phase = newValue } else { successor = newValue } }
    }

    /// The connection that the attempt under way has made.
    var triedConnection: UInt64? {
        switch trying {
        case .opening(let connection, _), .settling(let connection, _, _), .authenticating(let connection, _):
            connection
        case .idle, .findingAddress, .gettingToken, .online, .waiting, .stopped: nil
        }
    }

    /// The connection in use.
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
        (refusedTokens, endedToken) = (0, nil)
        backoff.succeed()
        backoff.forgetWindow()
        move(to: .connecting)
        attemptConnection(now)
    }

    // MARK: - Steps

    /// Whether one more try is allowed: after the first connection `reconnectRetryCount` of them, before it one more than
    /// `retryCount`.
    var mayTry: Bool {
        let count = wasConnected ? settings.reconnectRetryCount : settings.retryCount
        return count < 0 || tries < (wasConnected ? count : count + 1)
    }

    mutating func attemptConnection(_ now: ClientInstant) {
        attempt += 1
        // No connection is lost while there is one to be replaced.
        if successor == nil { tries += 1 }
        hasFoundAddresses = false
        guard asksForAddresses else { return chooseAddress(now) }
        trying = .findingAddress(attempt: attempt, until: now.adding(milliseconds: settings.providerMilliseconds))
        effects.append(.findAddresses(attempt: attempt))
    }

    mutating func addressesCame(_ number: UInt64, _ urls: [String]?, _ now: ClientInstant) {
        guard case .findingAddress(number, _) = trying else { return }
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
        var all: [(url: String, place: String)] = []
        for url in namedGateways + current {
            let place = GatewayAddress.comparable(url)
            if !all.contains(where: { $0.place == place }) { all.append((url, place)) }
        }
        // The node that is to be left or was silent comes last: it may be the only one, or hidden behind an address of all.
        let last = GatewayAddress.comparable(successor != nil ? usedAddress : silentAddress)
        if let index = all.firstIndex(where: { $0.place == last }) { all.append(all.remove(at: index)) }
        return all.map(\.url)
    }

    mutating func chooseAddress(_ now: ClientInstant) {
        guard !addresses.isEmpty else {
            return attemptFailed(ClientError(.noAddress, "no address of a gateway is known"), now)
        }
        if settings.anonymous { return open(now) }
        trying = .gettingToken(attempt: attempt, until: now.adding(milliseconds: settings.providerMilliseconds))
        effects.append(.fetchToken(attempt: attempt))
    }

    mutating func tokenCame(_ number: UInt64, _ token: String?, _ now: ClientInstant) {
        guard case .gettingToken(number, _) = trying else { return }
        guard let token else {
            return attemptFailed(ClientError(.tokenUnavailable, "the token provider gave no token"), now)
        }
        self.token = token
        // The server may take it for a while yet, and end the session again.
        guard token != endedToken else { return tokenRefused(now) }
        open(now)
    }

    private mutating func open(_ now: ClientInstant) {
        let all = addresses
        guard !all.isEmpty else { return }
        let url = all[addressIndex % all.count]
        trying = .opening(connection: attempt, until: now.adding(milliseconds: settings.connectMilliseconds))
        triedAddress = url
        log(.info, "connecting to \(url)")
        effects.append(.open(connection: attempt, url: url))
    }

    mutating func opened(_ number: UInt64, _ now: ClientInstant) {
        guard case .opening(number, let until) = trying else { return }
        if successor != nil, isOwedAnswers {
            let connectBy = min(until, now.adding(milliseconds: Self.settleMilliseconds))
            return trying = .settling(connection: number, until: until, connectBy: connectBy)
        }
        authenticate(number, until: until, now)
    }

    mutating func authenticate(_ number: UInt64, until: ClientInstant, _ now: ClientInstant) {
        trying = .authenticating(connection: number, until: until)
        isBeingReplaced = successor != nil
        var connect = ConnectRequest(session: session, device: settings.device, prime: true)
        if settings.anonymous { connect.anonymous = true } else { connect.token = token }
        triedToken = token
        add(PendingRequest(.connect(connect), .connect, at: now), now)
    }

    mutating func connected(_ result: ConnectResult, _ now: ClientInstant) {
        guard case .authenticating(let number, _) = trying else { return }
        if let old = onlineConnection {
            effects.append(.close(connection: old, code: 1000))
            succeed(now)
        }
        phase = .online(connection: number, since: now)
        (usedAddress, usedToken) = (triedAddress, triedToken)
        silentAddress = ""
        lastHeard = now
        pingedAt = nil
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
        if !result.devices.isEmpty { effects.append(.clientEvent(.devices(result.devices))) }
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
        guard case .authenticating(let number, _) = trying else { return }
        effects.append(.close(connection: number, code: 1000))
        switch error.code {
        case .unauthorized: tokenRefused(now)
        case .unavailable, .internal, .tooOften:
            if let asked = error.retryAfterMs { backoff.obey(retryAfterMilliseconds: asked) }
            attemptFailed(ClientError(error), now)
        default: if successor != nil { attemptFailed(ClientError(error), now) } else { giveUp(ClientError(error), now) }
        }
    }

    mutating func tokenRefused(_ now: ClientInstant) {
        refusedTokens += 1
        effects.append(.clientEvent(.tokenExpired))
        let error = ClientError(.unauthorized, "the token was refused")
        let mayHold = refusedTokens < Self.refusedTokensMax && !settings.anonymous
        guard successor != nil || mayHold else { return giveUp(error, now) }
        attemptFailed(error, now)
    }

    /// Tokens refused in a row before the client stops.
    private static let refusedTokensMax = 3
    static let addressesMax = 64
    private static let heartbeatSecondsMax: Int64 = 3_600
}
