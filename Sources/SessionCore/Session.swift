import ChatModel
import RoomProtocol
import Wire

/// One client's stay on the cluster: who it is, whether its client is connected, the rooms that it is in, the answers that
/// it waits for and the rates that are left to it.
///
/// A state machine without I/O. Inputs are methods; those that change something for others return the effects that the
/// holder performs, in order. Clocks are passed in: a `Timestamp` is the wall clock, milliseconds are loop time. The value
/// goes along when its client comes back on another lane of the node (``move(users:nowMilliseconds:)``); another node gets
/// a `HandedSession` of it.
public struct Session: Sendable {
    /// Whether a client has the session, and since when not.
    public enum Presence: Sendable, Hashable {
        /// The session has been made and has no connection yet. Can become `connected`.
        case fresh
        /// Can become `away`, `moving`, `ended`.
        case connected
        /// The connection ended at this loop time, and the grace runs. Can become `moving`, `ended`.
        case away(sinceMilliseconds: UInt64)
        /// No lane holds the session: another lane or node has given it away. Can become `connected`, `away`.
        case moving
        /// Final.
        case ended
    }

    /// A room that was asked for and has not answered.
    struct Entering: Sendable, Hashable {
        var room: RoomID
        /// Shown by the room with the enter.
        var notifyExt: String?
        /// The number under which the room was asked.
        var number: UInt32?

        /// Whether the room was asked after another request.
        func isLater(than request: UInt32?) -> Bool {
            guard let request, let number else { return false }
            return number > request
        }
    }

    /// A kick that was sent to the client, and when, in loop time.
    struct ToldKick: Sendable, Hashable {
        var kick: KickedPush
        var atMilliseconds: UInt64
    }

    public let id: SessionID
    public internal(set) var caller: Caller
    /// The encoding of the connection, or of the last one.
    public internal(set) var encoding: ClientEncoding
    public let startedAt: Timestamp
    public internal(set) var presence = Presence.fresh

    /// nil for an anonymous session.
    public internal(set) var expiresAt: Timestamp?
    /// When its token was issued, as far as the token says; never later than it was shown.
    public internal(set) var issuedAt: Timestamp?
    var isWarnedOfExpiry = false

    /// The rooms that it is in, in the order of entering; at most `SessionLimits.roomsMax`.
    public internal(set) var rooms: [RoomID] = []
    /// The facts that the rooms' leaders were told, which a new leader has to be told.
    public internal(set) var stays: [RoomID: SessionStay] = [:]
    /// Its rights to speak there.
    var voices: [RoomID: Voice] = [:]
    /// They count towards the limit of rooms.
    var entering: [Entering] = []
    /// Rooms that it has asked to leave, and has no answer of, with the number of the last request for it.
    var leaving: [RoomID: UInt32] = [:]
    /// The numbers of the requests with which it has entered the rooms that it is in, as far as this lane has seen it.
    var enteredBy: [RoomID: UInt32] = [:]
    /// Rooms that were told of a leave because of a late answer or kick, with the number of the last request before it.
    /// The leave undoes the answers to enters up to that request.
    var leftBehind: [RoomID: UInt32] = [:]
    /// Rooms that it was put out of while its client was away.
    var untoldKicks: [KickedPush] = []
    /// Rooms that its client was told to be out of, on a connection that may have been dead already.
    var toldKicks: [ToldKick] = []
    /// The node that has handed it over, until its rooms have been told.
    var formerNode: NodeID?

    /// The requests that were passed on to rooms.
    public internal(set) var requests: SessionRequests
    /// The cost of requests that rooms have not answered yet, by their number.
    var costs = AscendingTable<OpenCost>()
    public internal(set) var rates: Rates
    /// The rates that another node says are left to all sessions of the user, until a lane has reckoned with it.
    var handedUserLevels: RateLevels?

    /// The frames that the client was not given because it was slow.
    public var losses = Losses()

    /// A session that begins.
    /// - Parameter user: of the token, or a made-up one of an anonymous session.
    public init(
        id: SessionID, user: UserID, isAnonymous: Bool, encoding: ClientEncoding, startedAt: Timestamp, rates: Rates
    ) {
        self.id = id
        caller = Caller(user: user, anonymous: isAnonymous)
        self.encoding = encoding
        self.startedAt = startedAt
        self.rates = rates
        requests = SessionRequests()
    }

    /// A session that another node has handed over. Its client has not said yet which encoding it uses.
    /// - Parameter rates: full ones, which the other node's levels restrict.
    public init(_ handed: HandedSession, id: SessionID, from node: NodeID, rates: Rates) {
        self.id = id
        caller = Caller(user: handed.user, anonymous: handed.anonymous, device: handed.device)
        encoding = .json
        startedAt = handed.startedAt
        presence = .moving
        issuedAt = handed.issuedAt
        requests = SessionRequests(count: handed.requestCount)
        formerNode = node
        self.rates = rates
        caller.revivedAt = handed.revivedAt
        if let levels = handed.levels {
            self.rates.restrict(to: levels)
            handedUserLevels = handed.userLevels
        }
        for kick in handed.kicks { note(kick) }
        for item in handed.stays { _ = join(item.room, item.stay) }
    }

    /// A session whose holder can't be reached, as its ID tells it: it has no rooms until its client enters them again,
    /// whose leaders know that it is the same session by its ID.
    /// - Parameters:
    ///   - user: of the token, or the one that follows from an anonymous session's ID.
    ///   - startedAt: by the clock of the node where it began.
    public init(
        revived id: SessionID, user: UserID, isAnonymous: Bool, startedAt: Timestamp, at now: Timestamp, rates: Rates
    ) {
        self.id = id
        caller = Caller(user: user, anonymous: isAnonymous)
        caller.revivedAt = now
        encoding = .json
        self.startedAt = startedAt
        presence = .moving
        self.rates = rates
        requests = SessionRequests(revivedAfterMilliseconds: now.milliseconds - startedAt.milliseconds)
    }

    public var isConnected: Bool { presence == .connected }
    public func isIn(_ room: RoomID) -> Bool { stays[room] != nil }
    public func isEntering(_ room: RoomID) -> Bool { entering.contains { $0.room == room } }

    /// Whether it may speak in a room that it is in; nil as long as the room's leader has not said.
    public func voice(in room: RoomID) -> Voice? { voices[room] }

    /// The facts that a new leader of a room is told of a session in it.
    public func announcement(in room: RoomID) -> SessionStay {
        var stay = stays[room] ?? SessionStay(profile: Profile(), enteredAt: startedAt)
        stay.isAway = !isConnected
        return stay
    }
}

/// The settings of a node that bound a session.
public struct SessionLimits: Sendable, Hashable {
    public var roomsMax = 10
    public var allowAnonymous = false

    public init(roomsMax: Int = 10, allowAnonymous: Bool = false) {
        self.roomsMax = roomsMax
        self.allowAnonymous = allowAnonymous
    }
}
