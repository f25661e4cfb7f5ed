import ChatModel
import RoomProtocol
import SessionCore
import Wire

/// One session and what is around it: clocks that stand still unless a test moves them, the rates of its user, and a
/// node that admits every enter.
struct SessionDialogue {
    var session: Session
    var users = UserRates(RateLimits())
    var limits = SessionLimits(roomsMax: 3)
    /// The wall clock.
    var time = Timestamp(1_000_000)
    /// Loop time, in milliseconds.
    var now: UInt64 = 5_000
    /// Why the node takes no more enters; nil: it does.
    var putOff: ChatError?

    static let here = node("n1")
    static let id = SessionID(secret: String(repeating: "1", count: SessionID.secretBytes), at: here)

    /// When the client's last byte came: it lives, unless said otherwise.
    var heardAt = UInt64.max

    /// A session that has begun and whose client has not connected yet.
    init(of user: String = "ann", isAnonymous: Bool = false) {
        session = Session(
            id: Self.id, user: Self.user(user), isAnonymous: isAnonymous, encoding: .json, startedAt: time,
            rates: Rates(RateLimits(), nowMilliseconds: now))
    }

    /// A session whose client is connected and that is in these rooms.
    static func connected(in rooms: String..., anonymous: Bool = false) -> SessionDialogue {
        var dialogue = SessionDialogue(of: anonymous ? "anon-1" : "ann", isAnonymous: anonymous)
        dialogue.limits.allowAnonymous = anonymous
        _ = anonymous ? dialogue.connectAnonymously() : dialogue.connect()
        for (index, room) in rooms.enumerated() {
            let asked = dialogue.ask(.enter(EnterRequest(room: Self.room(room))), room, id: UInt32(100 + index))
            _ = dialogue.enter(room, number: asked)
        }
        return dialogue
    }

    static func node(_ name: String) -> NodeID { made(NodeID(name)) }
    static func user(_ name: String) -> UserID { made(UserID(name)) }
    static func room(_ name: String) -> RoomID { made(RoomID(name)) }

    private static func made<T>(_ value: T?) -> T {
        guard let value else { preconditionFailure("not a name") }
        return value
    }

    /// The holder has died; another node takes the session up by its ID.
    mutating func revive(after milliseconds: Int64) {
        time = time.adding(milliseconds: milliseconds)
        session = Session(
            revived: Self.id, user: session.caller.user, isAnonymous: session.caller.anonymous,
            startedAt: session.startedAt, at: time, rates: Rates(RateLimits(), nowMilliseconds: now))
    }

    // MARK: - Connections

    func claims(
        _ user: String = "ann", endsAfter seconds: Int64 = 3600, issuedAt: Timestamp? = nil, rooms: [String]? = nil
    ) -> TokenClaims {
        TokenClaims(
            user: Self.user(user), expiresAt: time.adding(seconds: seconds), issuedAt: issuedAt,
            rooms: rooms.map { $0.map(Self.room) }, nick: "Nick", avatar: "")
    }

    mutating func connect(_ claims: TokenClaims? = nil, id: UInt32? = 1, in encoding: ClientEncoding = .json)
        -> [Session.Effect]
    {
        let connection = Session.Connection(
            request: id, device: .mobile, encoding: encoding, claims: claims ?? self.claims())
        return session.onConnect(
            connection, Session.Greeting(heartbeatSeconds: 15, gateways: ["ws://a"]), at: time, nowMilliseconds: now)
    }

    mutating func connectAnonymously(addressHash: UInt64? = 7) -> [Session.Effect] {
        let connection = Session.Connection(
            request: 1, device: .web, encoding: .json, claims: nil, addressHash: addressHash)
        return session.onConnect(
            connection, Session.Greeting(heartbeatSeconds: 15, gateways: []), at: time, nowMilliseconds: now)
    }

    mutating func disconnect() -> [Session.Effect] { session.onDisconnect(heardAt: heardAt, nowMilliseconds: now) }

    /// The session goes to another lane, where its client connects.
    mutating func moveAndConnect(_ claims: TokenClaims? = nil) -> [Session.Effect] {
        let given = session.move(users: &users, heardAt: heardAt, nowMilliseconds: now)
        session.takeUp(users: &users, nowMilliseconds: now)
        return given + connect(claims)
    }

    /// The session as another node gets it, and takes it up without the client.
    func handedOver() -> SessionDialogue {
        var other = self
        other.users = UserRates(RateLimits())
        let handed = session.handed(users: users, nowMilliseconds: now)
        other.session = Session(
            handed, id: session.id, from: Self.here, rates: Rates(RateLimits(), nowMilliseconds: now))
        other.session.takeUp(users: &other.users, nowMilliseconds: now)
        return other
    }

    // MARK: - Rooms

    mutating func decide(_ operation: ClientOperation, _ room: String, id: UInt32? = 2) -> Session.Decision {
        let request = Session.Request(operation, to: Self.room(room), id: id)
        if case .barrage = operation { return session.onUnratedRequest(request, limits) }
        let putOff = putOff
        return session.onRequest(request, limits, users: &users, nowMilliseconds: now) { putOff }
    }

    mutating func decideEnter(_ room: String, id: UInt32? = 2) -> Session.Decision {
        decide(.enter(EnterRequest(room: Self.room(room))), room, id: id)
    }

    /// Asks what must not be refused; the number under which the room is asked.
    mutating func ask(_ operation: ClientOperation, _ room: String, id: UInt32? = 2) -> UInt32? {
        guard case .ask(let asked) = decide(operation, room, id: id) else { preconditionFailure("it is refused") }
        return asked.number
    }

    mutating func askEnter(_ room: String, id: UInt32? = 2) -> UInt32? {
        ask(.enter(EnterRequest(room: Self.room(room))), room, id: id)
    }

    func result(_ room: String, seq: UInt64 = 7) -> EnterResult {
        let user = session.caller.user
        var member = Member(user: user, profile: Profile(nick: "Nick"), role: .normal)
        member.enteredAt = time
        let info = RoomInfo(id: Self.room(room), creator: user, createdAt: Timestamp(1))
        return EnterResult(room: RoomView(info: info, online: 1), me: member, epoch: "e", seq: seq)
    }

    mutating func enter(_ room: String, number: UInt32?, isOpen: Bool = true) -> [Session.Effect] {
        let answer = Session.EnterAnswer(request: number, result: .success(result(room)))
        return session.onEntered(Self.room(room), answer, isOpen: isOpen, at: time)
    }

    mutating func refuseEnter(_ room: String, number: UInt32?, _ error: ChatError) -> [Session.Effect] {
        session.onEntered(
            Self.room(room), Session.EnterAnswer(request: number, result: .failure(error)), isOpen: true, at: time)
    }

    mutating func exit(_ room: String, number: UInt32?, isOpen: Bool = true) -> [Session.Effect] {
        session.onExited(Self.room(room), request: number, isOpen: isOpen)
    }

    mutating func kick(_ room: String, _ reason: KickReason = .byManager, isAnnounced: Bool = false) -> [Session.Effect]
    {
        session.onKicked(Self.room(room), reason, ext: nil, isAnnounced: isAnnounced, nowMilliseconds: now)
    }

    mutating func answer(_ number: UInt32?, isRepeat: Bool = false, charged: Int = 0) {
        guard let number, let settlement = session.takeCost(of: number, isRepeat: isRepeat, charged: charged) else {
            return
        }
        session.settle(settlement, users: &users, nowMilliseconds: now)
    }

    // MARK: - What is expected

    func isIn(_ room: String) -> Bool { session.isIn(Self.room(room)) }
    func isEntering(_ room: String) -> Bool { session.isEntering(Self.room(room)) }

    var rooms: [String] { session.rooms.map { "\($0)" } }

    static func text(_ room: String, _ text: String = "hi", clientID: String = "c") -> ClientOperation {
        .send(SendRequest(room: Self.room(room), clientID: clientID, draft: MessageDraft(body: .text(text))))
    }

    static func exit(_ room: String) -> ClientOperation { .exit(RoomNameRequest(room: Self.room(room))) }

    static func read(_ room: String) -> ClientOperation { .room(RoomNameRequest(room: Self.room(room))) }
}

extension Session.Effect {
    static func left(_ room: String) -> Session.Effect { .notify(SessionDialogue.room(room), .left) }
    static func away(_ room: String) -> Session.Effect { .notify(SessionDialogue.room(room), .away) }
    static func moved(_ room: String, from node: String? = nil) -> Session.Effect {
        .notify(SessionDialogue.room(room), .moved(from: node.map(SessionDialogue.node)))
    }
    static func joined(_ room: String) -> Session.Effect { .joined(SessionDialogue.room(room)) }
    static func parted(_ room: String) -> Session.Effect { .parted(SessionDialogue.room(room)) }
    static func kicked(_ room: String, _ reason: KickReason) -> Session.Effect {
        .push(.kicked(KickedPush(room: SessionDialogue.room(room), reason: reason)))
    }

    /// The code of an error that is replied.
    var refusal: ErrorCode? {
        if case .reply(_, .failure(let error)) = self { error.code } else { nil }
    }

    var connectResult: ConnectResult? {
        if case .reply(_, .success(.connect(let result))) = self { result } else { nil }
    }
}

extension Session.Decision {
    /// Why it is refused.
    var error: ChatError? { if case .refuse(let error) = self { error } else { nil } }
    var asked: Session.Asked? { if case .ask(let asked) = self { asked } else { nil } }
}
