import ChatModel
import Wire

/// The client as a value: what happens goes in, what is to be done comes out. It reads no clock, throws no dice of its
/// own and touches no socket.
///
/// One session, any number of rooms (the server allows 10). Its parts: `+Connecting` makes a connection, `+Ending` says
/// what follows its end, `+Moving` puts another in its place, `+Deadlines` keeps the time of both; `+Rooms` the stays,
/// `+Requests` what waits for an answer, `+Receiving` what the server says.
package struct ClientCore: Sendable {
    /// How far the connection is.
    enum Phase: Sendable, Hashable {
        /// Nothing is wanted. Next: findingAddress, gettingToken, opening.
        case idle
        /// Next: gettingToken, opening, waiting, stopped.
        case findingAddress(attempt: UInt64, until: ClientInstant)
        /// Next: opening, waiting, stopped.
        case gettingToken(attempt: UInt64, until: ClientInstant)
        /// The WebSocket is being opened. Next: settling, authenticating, waiting, stopped.
        case opening(connection: UInt64, until: ClientInstant)
        /// The WebSocket of a successor is open. `connect` waits for answers that the connection in use still owes, because
        /// it ends that connection. Next: authenticating, waiting, stopped.
        case settling(connection: UInt64, until: ClientInstant, connectBy: ClientInstant)
        /// `connect` was sent. Next: online, waiting, stopped.
        case authenticating(connection: UInt64, until: ClientInstant)
        /// Next: waiting, stopped.
        case online(connection: UInt64, since: ClientInstant)
        /// Until the next try. Next: findingAddress, gettingToken, opening, stopped.
        case waiting(until: ClientInstant)
        /// Closed or failed. Next: as idle.
        case stopped
    }

    let settings: ClientSettings
    /// Whether the app has an address provider.
    let asksForAddresses: Bool
    /// Addresses that the app gave.
    let configuredAddresses: [String]

    var phase = Phase.idle
    /// The attempt at the connection that takes the place of the one in use, at another node. There only while `phase` is
    /// online, so that there are two connections at most; its phases are those of an attempt.
    var successor: Phase?
    /// Whether a successor has sent `connect` since this connection is in use: if it ends with 4410 now, the client itself
    /// has replaced it.
    var isBeingReplaced = false
    package internal(set) var state = ClientState.idle
    var stays: [RoomID: RoomStay] = [:]
    /// By the order in which they were asked.
    var requests: [UInt64: PendingRequest] = [:]
    /// Queues of calls that were refused for their rate, and whose turn it is: one at a time is asked.
    var turns: [PendingRequest.Queue: UInt64] = [:]
    /// Requests on the connection: the order number by request ID.
    var onWire: [UInt32: UInt64] = [:]
    var nextRequest: UInt64 = 1
    /// Goes on over connections, although a node answers only what was asked over the same one: so that no answer can be
    /// taken for another request's.
    var nextWireID: UInt32 = 1

    var attempt: UInt64 = 0
    /// Which of the addresses is tried next; moves on with each failure.
    var addressIndex = 0
    /// The addresses that the provider gave last, and whether that was for this attempt.
    var foundAddresses: [String] = []
    var hasFoundAddresses = false
    /// The gateways that the server named when the client connected last.
    var knownGateways: [String] = []
    /// Where a `reconnect` push has sent the client, until it is connected again.
    var namedGateways: [String] = []
    /// The address of the connection in use, and of the one that is being made.
    var usedAddress = ""
    var triedAddress = ""
    /// The address at which nothing was heard any more, until there is a connection again; else empty.
    var silentAddress = ""
    var token: String?
    var session: SessionID?
    package internal(set) var user: UserID?
    var backoff: Backoff
    /// Whether a connection was up since `start`.
    var wasConnected = false
    /// Tries since `start`, or since the connection was up.
    var tries = 0
    var refusedTokens = 0
    /// The token that was sent last with a `connect`, and the one that the server has taken for the session.
    var triedToken: String?
    var usedToken: String?
    /// The token with which the server has ended a session. It is not used again.
    var endedToken: String?
    /// The app's calls that wait for the connection.
    var startTickets: [UInt64] = []
    /// Stays that ended while there was no connection: the server is told when the session is taken over.
    var owedExits: Set<RoomID> = []
    var heartbeatMilliseconds: Int64 = 15_000
    var lastHeard = ClientInstant(milliseconds: 0)
    /// When a `ping` was sent, if nothing was heard since.
    var pingedAt: ClientInstant?
    /// When the client moves to another node, after a `reconnect` push.
    var moveAt: ClientInstant?

    var random: SplitMix64
    var effects: [ClientEffect] = []

    /// - Parameters:
    ///   - addresses: URLs of gateways that the app knows, best first.
    ///   - asksForAddresses: whether `findAddresses` is asked at each connect.
    ///   - seed: for waiting times.
    package init(settings: ClientSettings, addresses: [String], asksForAddresses: Bool, seed: UInt64) {
        self.settings = settings
        self.asksForAddresses = asksForAddresses
        configuredAddresses = addresses
        backoff = Backoff(
            minMilliseconds: settings.reconnectMinMilliseconds, maxMilliseconds: settings.reconnectMaxMilliseconds)
        random = SplitMix64(seed: seed)
    }

    /// Takes what happened and returns what is to be done.
    package mutating func handle(_ input: ClientInput, at now: ClientInstant) -> [ClientEffect] {
        switch input {
        case .start(let ticket): start(ticket, now)
        case .stop: stop()
        case .addresses(let attempt, let urls): addressesCame(attempt, urls, now)
        case .token(let attempt, let token): tokenCame(attempt, token, now)
        case .renewedToken(let token): renewedTokenCame(token, now)
        case .opened(let connection): opened(connection, now)
        case .heard(let connection): heard(connection, now)
        case .received(let connection, let item): received(connection, item, now)
        case .broken(let connection, let what): broken(connection, what, now)
        case .closed(let connection, let code, let reason): closed(connection, code: code, reason: reason, now)
        case .enter(let ticket, let room, let options): enter(room, options, ticket: ticket, now)
        case .exit(let ticket, let room): exit(ticket, room, now)
        case .perform(let ticket, let operation): perform(ticket, operation, now)
        case .barrage(let request): say(.barrage(request), in: request.room)
        case .tap(let request): say(.tally(request), in: request.room)
        case .deadline: deadline(now)
        }
        let due = effects
        effects = []
        return due
    }

    /// When `deadline` is to be given next; nil for never.
    package var nextDeadline: ClientInstant? {
        var earliest = connectionDeadline
        func consider(_ instant: ClientInstant?) {
            guard let instant else { return }
            earliest = min(earliest ?? instant, instant)
        }
        for stay in stays.values {
            consider(stay.retryAt)
            if isEntered(stay) { for fetch in stay.fetches { consider(fetch.at) } }
        }
        for (serial, request) in requests {
            consider(request.expiry(settings))
            if canSend(serial, request) { consider(request.notBefore) }
        }
        return earliest
    }

    private mutating func deadline(_ now: ClientInstant) {
        connectionDeadline(now)
        retryEntries(now)
        readGaps(now)
        transmit(now)
    }

    // MARK: - Words to the outside

    mutating func emit(_ room: RoomID, _ event: RoomEvent) { effects.append(.roomEvent(room, event)) }

    mutating func complete(_ ticket: UInt64, _ answer: ClientAnswer) {
        effects.append(.complete(ticket: ticket, .success(answer)))
    }

    mutating func fail(_ ticket: UInt64, _ error: ClientError) {
        effects.append(.complete(ticket: ticket, .failure(error)))
    }

    mutating func log(_ level: LogLevel, _ text: String) { effects.append(.log(level, text)) }

    mutating func move(to state: ClientState) {
        guard state != self.state else { return }
        self.state = state
        effects.append(.clientEvent(.state(state)))
    }
}

extension ClientCore {
    /// How the client stands with a room; nil without a stay.
    package func connectionState(of room: RoomID) -> ConnectionState? { stays[room]?.state }

    /// Whether that connection is in use, or being made.
    package func wants(_ connection: UInt64) -> Bool {
        connection == onlineConnection || connection == triedConnection
    }
}
