import ChatModel
import RoomProtocol
import Wire

/// The session's connections, one after the other, and its end.
extension Session {
    /// A connection that begins a session or takes it over, as the login has found it.
    public struct Connection: Sendable {
        /// The client's request ID.
        public var request: UInt32?
        public var device: Device
        public var encoding: ClientEncoding
        /// nil for an anonymous client.
        public var claims: TokenClaims?
        /// Set for an anonymous client (`Caller.addressHash`).
        public var addressHash: UInt64?

        public init(
            request: UInt32?, device: Device, encoding: ClientEncoding, claims: TokenClaims?, addressHash: UInt64? = nil
        ) {
            self.request = request
            self.device = device
            self.encoding = encoding
            self.claims = claims
            self.addressHash = addressHash
        }
    }

    /// The facts about the node that the client is told.
    public struct Greeting: Sendable {
        public var heartbeatSeconds: Int64
        public var gateways: [String]
        /// The features that every node of the cluster serves.
        public var features: [String]
        /// The user's sessions.
        public var devices: [ConnectedDevice]

        public init(
            heartbeatSeconds: Int64, gateways: [String], features: [String] = [], devices: [ConnectedDevice] = []
        ) {
            self.heartbeatSeconds = heartbeatSeconds
            self.gateways = gateways
            self.features = features
            self.devices = devices
        }
    }

    /// The client is here: for the first time, or back.
    public mutating func onConnect(
        _ connection: Connection, _ greeting: Greeting, at now: Timestamp, nowMilliseconds: UInt64
    ) -> [Effect] {
        let isResumed = presence != .fresh
        let revivedAt = caller.revivedAt
        presence = .connected
        encoding = connection.encoding
        if let claims = connection.claims {
            caller = Caller(
                user: claims.user, anonymous: false, device: connection.device, rooms: claims.rooms,
                tokenProfile: Profile(nick: claims.nick, avatar: claims.avatar))
        } else {
            caller = Caller(user: caller.user, anonymous: true, device: connection.device)
            caller.addressHash = connection.addressHash
        }
        caller.revivedAt = revivedAt
        rely(on: connection.claims, at: now)
        var effects = sendMoved()
        // In front of the reply, on which clients enter their rooms again.
        for kick in untoldKicks { effects.append(notify(kick, at: nowMilliseconds)) }
        untoldKicks = []
        effects += endForbiddenStays()
        if let request = connection.request {
            var result = ConnectResult(session: id, user: caller.user, time: now)
            result.anonymous = caller.anonymous
            result.heartbeatSeconds = greeting.heartbeatSeconds
            result.gateways = greeting.gateways
            result.resumed = isResumed
            result.features = greeting.features
            result.devices = greeting.devices
            effects.append(.reply(request, .success(.connect(result))))
        }
        return effects + warnOfExpiry(at: now)
    }

    /// The connection has ended: the grace begins.
    /// - Parameter heardAt: when the client's last byte came, in loop time.
    public mutating func onDisconnect(heardAt: UInt64, nowMilliseconds now: UInt64) -> [Effect] {
        presence = .away(sinceMilliseconds: now)
        noteUnheardKicks(heardAt: heardAt)
        (entering, leaving) = ([], [:])
        requests.connectionEnded()
        return rooms.map { .notify($0, .away) }
    }

    /// The session has come here while its client went again: it is in its grace.
    public mutating func onArriveAlone(nowMilliseconds now: UInt64) -> [Effect] {
        presence = .away(sinceMilliseconds: now)
        return sendMoved() + rooms.map { .notify($0, .away) }
    }

    /// Whether the grace is over.
    public func hasOutlivedGrace(ofMilliseconds grace: UInt64, nowMilliseconds now: UInt64) -> Bool {
        guard case .away(let since) = presence else { return false }
        return now >= since + grace
    }

    /// The session is over: its rooms see an exit.
    public mutating func end() -> [Effect] {
        presence = .ended
        defer { (rooms, stays, voices, entering, leaving, enteredBy) = ([], [:], [:], [], [:], [:]) }
        return rooms.map { .parted($0) } + rooms.map { .notify($0, .left) }
    }

    /// A user who was put offline has left, without a grace. The holder ends the session behind the effects.
    public func onForcedOffline() -> [Effect] { isConnected ? [.close(.forcedOffline, "forced offline")] : [] }

    // MARK: - From lane to lane, and from node to node

    /// Whether a client may take the session over.
    /// - Parameter user: of its token; nil: an anonymous one, which only knows the session's secret ID.
    public func mayBeTaken(by user: UserID?) -> Bool {
        user.map { !caller.anonymous && caller.user == $0 } ?? caller.anonymous
    }

    /// Another connection takes the session over: this lane holds it no longer, and nobody here hears what its open
    /// requests are answered. Its rooms are told by the next holder.
    /// - Parameter heardAt: when the client's last byte came on the former connection, in loop time; nil: there is none.
    public mutating func move(users: inout UserRates, heardAt: UInt64?, nowMilliseconds now: UInt64) -> [Effect] {
        let wasConnected = isConnected
        if let heardAt { noteUnheardKicks(heardAt: heardAt) }
        presence = .moving
        // Nobody here will hear what its open changes bring along: the most that they may.
        for open in costs.values { settle(.copied(open.cost, .max), users: &users, nowMilliseconds: now) }
        costs = AscendingTable()
        (entering, leaving, enteredBy) = ([], [:], [:])
        requests.connectionEnded()
        // Its losses until now are part of what a resume brings back.
        losses = Losses()
        return wasConnected ? [.close(.takenOver, "taken over by a newer connection")] : []
    }

    /// A lane holds the session from now on.
    public mutating func takeUp(users: inout UserRates, nowMilliseconds now: UInt64) {
        guard let levels = handedUserLevels else { return }
        handedUserLevels = nil
        users.change(caller.user, nowMilliseconds: now) { $0.restrict(to: levels) }
    }

    /// The state that another node needs to take the session over.
    public func handed(users: borrowing UserRates, nowMilliseconds now: UInt64) -> HandedSession {
        var handed = HandedSession(
            user: caller.user, anonymous: caller.anonymous, device: caller.device, issuedAt: issuedAt,
            startedAt: startedAt, requestCount: requests.count,
            stays: rooms.compactMap { room in
                stays[room].map { HandedSession.RoomStay(room: room, stay: $0) }
            })
        handed.levels = rates.levels(nowMilliseconds: now)
        handed.userLevels = users.levels(of: caller.user, nowMilliseconds: now)
        handed.kicks = untoldKicks
        handed.revivedAt = caller.revivedAt
        return handed
    }

    /// Its rooms are told where it is from now on.
    private mutating func sendMoved() -> [Effect] {
        let former = formerNode
        formerNode = nil
        return rooms.map { .notify($0, .moved(from: former)) }
    }
}
