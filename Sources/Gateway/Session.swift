import ChatModel
import RoomCore
import RoomLink
import SessionCore
import Wire

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
    /// What is left of its rates, from lane to lane; nil before a lane of this node has taken it up.
    var rates: Rates?
    /// What another node says is left: to it, and to all sessions of its user.
    var handedLevels: (session: RateLevels, user: RateLevels?)?
    /// Rooms that it was put out of while its client was away: told when the client is back.
    private(set) var untoldKicks: [KickedPush] = []

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
        handedLevels = handed.levels.map { ($0, handed.userLevels) }
        for kick in handed.kicks { note(kick) }
        for item in handed.stays { stay(item.stay, in: item.room) }
    }

    /// What another node has to know of it.
    /// - Parameters:
    ///   - userLevels: what is left to all sessions of its user here; nil: all.
    ///   - now: in loop time.
    func handed(userLevels: RateLevels?, nowMilliseconds now: UInt64) -> HandedSession {
        var handed = HandedSession(
            user: caller.user, anonymous: caller.anonymous, device: caller.device, issuedAt: issuedAt,
            startedAt: startedAt, requestCount: requests.count,
            stays: rooms.compactMap { room in
                stays[room].map { HandedSession.RoomStay(room: room, stay: $0) }
            })
        if let rates { handed.levels = rates.levels(nowMilliseconds: now) }
        handed.userLevels = userLevels
        handed.kicks = untoldKicks
        return handed
    }

    /// The client is not there to be told that it is out of a room. Of each room it is told once.
    mutating func note(_ kick: KickedPush) {
        untoldKicks.removeAll { $0.room == kick.room }
        untoldKicks.append(kick)
        // A session that is away enters nothing, so there are no more than it was in.
        if untoldKicks.count > Self.untoldKicksMax { untoldKicks.removeFirst() }
    }

    private static let untoldKicksMax = 100

    mutating func takeUntoldKicks() -> [KickedPush] {
        defer { untoldKicks = [] }
        return untoldKicks
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
    var rates: Rates
    /// The numbers of the requests with which it has entered the rooms that it is in, as far as this lane has seen it.
    var enteredBy: [RoomID: UInt32] = [:]
    /// What the requests cost that rooms have not answered yet, by their number: at most as many as may be open.
    var costs: [UInt32: OpenCost] = [:]

    /// What its barrage is sampled by.
    let hash: UInt64

    var id: SessionID { state.id }

    init(state: SessionState, rates: Rates) {
        self.state = state
        self.rates = rates
        hash = SampleHash.sender(state.id)
    }

    func isIn(_ room: RoomID) -> Bool { state.stays[room] != nil }
    func isEntering(_ room: RoomID) -> Bool { entering.contains { $0.room == room } }
}
