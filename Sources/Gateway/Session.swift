import ChatModel
import RoomCore
import RoomLink
import SessionCore

/// What of a session moves with it from lane to lane when its client comes back on another connection.
struct SessionState: Sendable {
    let id: SessionID
    var caller: Caller
    /// Of its connection, or of its last one.
    var encoding: ClientEncoding
    /// nil for an anonymous one.
    var expiresAt: Timestamp?
    /// When its token was issued, as far as the token says; never later than it was shown.
    var issuedAt: Timestamp?
    var warnedOfExpiry = false
    let startedAt: Timestamp
    /// The rooms it is in, in the order of entering; at most `roomsPerSessionMax`.
    private(set) var rooms: [RoomID] = []
    /// What their leaders were told of it, which a new leader has to be told.
    private(set) var stays: [RoomID: Stay] = [:]
    /// What it may say there.
    private var voices: [RoomID: Voice] = [:]
    /// What was passed on to rooms.
    var requests = SessionRequests()
    /// The node that has handed it over, until its rooms have been told.
    var formerNode: NodeID?
    var losses = Losses()

    init(id: SessionID, caller: Caller, encoding: ClientEncoding, startedAt: Timestamp) {
        self.id = id
        self.caller = caller
        self.encoding = encoding
        self.startedAt = startedAt
    }

    /// A session of another node, which has handed it over. Its client has not said yet what it understands.
    init(_ handed: HandedSession, id: SessionID, from node: NodeID) {
        let caller = Caller(user: handed.user, anonymous: handed.anonymous, device: handed.device)
        self.init(id: id, caller: caller, encoding: .json, startedAt: handed.startedAt)
        issuedAt = handed.issuedAt
        requests = SessionRequests(count: handed.requestCount)
        formerNode = node
        for item in handed.stays { stay(item.stay, in: item.room) }
    }

    /// What another node has to know of it.
    var handed: HandedSession {
        HandedSession(
            user: caller.user, anonymous: caller.anonymous, device: caller.device, issuedAt: issuedAt,
            startedAt: startedAt, requestCount: requests.count,
            stays: rooms.compactMap { room in
                stays[room].map { HandedSession.RoomStay(room: room, stay: $0) }
            })
    }

    /// The session is in a room, from now on or as before.
    mutating func stay(_ stay: Stay, in room: RoomID) {
        if stays.updateValue(stay, forKey: room) == nil { rooms.append(room) }
    }

    /// It shows something else of itself in a room that it is in.
    mutating func show(_ profile: Profile, in room: RoomID) { stays[room]?.profile = profile }

    /// What its leader lets it say in a room that it is in.
    mutating func hear(_ voice: Voice, in room: RoomID) {
        if stays[room] != nil { voices[room] = voice }
    }

    /// nil as long as the room's leader has not said.
    func voice(in room: RoomID) -> Voice? { voices[room] }

    mutating func leave(_ room: RoomID) {
        voices[room] = nil
        guard stays.removeValue(forKey: room) != nil else { return }
        rooms.removeAll { $0 == room }
    }

    /// What the session now relies on; nil for an anonymous one. A clock that is ahead of ours must not let a token
    /// outlive a revocation.
    mutating func hold(_ claims: TokenClaims?, at now: Timestamp) {
        expiresAt = claims?.expiresAt
        issuedAt = claims?.issuedAt.map { min($0, now) }
        warnedOfExpiry = false
    }
}

/// One client's stay on the cluster, on the lane of its connection, or of its last one during the grace.
final class Session {
    var state: SessionState
    /// nil while the client is away.
    var connection: ClientConnection?
    /// Loop time when the connection went; nil while there is one.
    var awaySinceMilliseconds: UInt64?
    /// Rooms asked for and not yet answered: they count towards the limit. With what is shown with the enter.
    var entering: [(room: RoomID, notifyExt: String?)] = []
    var changes: TokenBucket
    var reads: TokenBucket

    /// What its barrage is sampled by.
    let hash: UInt64

    var id: SessionID { state.id }

    init(state: SessionState, configuration: GatewayConfiguration, nowMilliseconds: UInt64) {
        self.state = state
        hash = SampleHash.sender(state.id)
        (changes, reads) = Self.rates(configuration, nowMilliseconds)
    }

    /// Begins anew with other rates.
    func setRates(_ configuration: GatewayConfiguration, nowMilliseconds: UInt64) {
        (changes, reads) = Self.rates(configuration, nowMilliseconds)
    }

    private static func rates(_ configuration: GatewayConfiguration, _ nowMilliseconds: UInt64)
        -> (changes: TokenBucket, reads: TokenBucket)
    {
        (
            TokenBucket(
                ratePerSecond: configuration.changesPerSecond, burst: configuration.changesBurst,
                nowMilliseconds: nowMilliseconds),
            TokenBucket(
                ratePerSecond: configuration.readsPerSecond, burst: configuration.readsBurst,
                nowMilliseconds: nowMilliseconds)
        )
    }

    func isIn(_ room: RoomID) -> Bool { state.stays[room] != nil }
    func isEntering(_ room: RoomID) -> Bool { entering.contains { $0.room == room } }
}
