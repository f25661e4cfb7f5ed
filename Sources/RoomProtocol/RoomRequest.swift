import ChatModel
import Wire

/// A request to a room, which the leader of its shard performs. One value per request of a client or of the server API,
/// and per word of a lane about its sessions: batches of them travel once per loop turn. It is one reference, since it is
/// copied with each step towards its room, and is a dozen strings and lists.
public struct RoomRequest: Sendable, Equatable {
    /// The author of a request, and the place that waits for the answer.
    public enum Origin: Sendable, Equatable {
        case session(SessionOrigin)
        case server(ServerOrigin)
    }

    /// Large ones are references, so that a body is small wherever it is copied.
    public enum Body: Sendable, Equatable {
        /// A client's operation. The server API has those that read (`room`, `history`, `members`, `membersById` and
        /// `queue`), need not be in the room for them, and gets pages that are not cut to a frame.
        case operation(ClientOperation)
        /// An operation of the server API alone.
        case server(ServerOperation)
        /// The session has ended or its grace has passed: an exit that nobody waits for.
        case leave
        /// The client's connection is gone; its session is in its grace.
        case away
        /// The client is back; its session may live on another lane now, or have come from another node.
        case moved(from: NodeID?)
        /// The session is in the room already; a new leader is told so.
        indirect case announce(SessionStay)
        /// The lane has seen the room up to here; a new leader is told so behind the announcements of all of the lane's
        /// sessions in the room.
        indirect case follow(StreamPlace)
        /// The barrage of a window, of several sessions; droppable. The request's session is any of the lane.
        indirect case barrages(BarrageBatch)
        /// The taps of a window, of several sessions. The request's session is any of the lane.
        indirect case taps(TapBatch)
    }

    @usableFromInline
    final class Content: Sendable {
        @usableFromInline let room: RoomID
        @usableFromInline let origin: Origin
        @usableFromInline let body: Body

        @inlinable
        init(_ room: RoomID, _ origin: Origin, _ body: Body) {
            (self.room, self.origin, self.body) = (room, origin, body)
        }
    }

    @usableFromInline let content: Content

    @inlinable public var room: RoomID { content.room }
    @inlinable public var origin: Origin { content.origin }
    @inlinable public var body: Body { content.body }

    @inlinable
    public init(room: RoomID, from origin: Origin, _ body: Body) { content = Content(room, origin, body) }

    public static func == (one: RoomRequest, other: RoomRequest) -> Bool {
        one.room == other.room && one.origin == other.origin && one.body == other.body
    }

    public init(room: RoomID, from session: SessionOrigin, _ body: Body) {
        self.init(room: room, from: .session(session), body)
    }
}

/// A session that asks a room, or that a lane speaks of.
public struct SessionOrigin: Sendable, Equatable {
    public var address: SessionAddress
    public var caller: Caller
    /// The number under which the gateway knows the request, of all that the session asks; nil wants no reply.
    public var request: UInt32?
    /// Counts the session's requests, so that the leader knows one that is repeated because a node has died; 0 where
    /// nothing is to be repeated. With `follow` it is the number that the leader says when it goes on
    /// (`RoomOutput.following`).
    public var number: UInt64
    /// The rooms that the session is in, where the operation needs them: for a COMBINE.
    public var rooms: [RoomID]
    /// The session is beyond its rate: only a repeat of what has been answered is answered, all else refused with 416
    /// and this wait, in milliseconds.
    public var overRateMs: Int64?
    /// The user may not do it anywhere: only a repeat of what has been answered is answered, all else refused with this.
    public var refusal: ChatError?

    public init(
        _ address: SessionAddress, _ caller: Caller, request: UInt32? = nil, number: UInt64 = 0, rooms: [RoomID] = [],
        overRateMs: Int64? = nil, refusal: ChatError? = nil
    ) {
        self.address = address
        self.caller = caller
        self.request = request
        self.number = number
        self.rooms = rooms
        self.overRateMs = overRateMs
        self.refusal = refusal
    }
}

/// A call of the server API that waits at a node.
public struct ServerOrigin: Sendable, Hashable {
    public var node: NodeID
    /// The loop of that node on which it waits.
    public var lane: Int
    /// The number under which the lane knows it.
    public var request: UInt32

    public init(node: NodeID, lane: Int, request: UInt32) {
        self.node = node
        self.lane = lane
        self.request = request
    }
}

/// The part of a lane that waits for an answer.
public enum Asker: Sendable, Hashable {
    case session(SessionID)
    /// All calls of the server API.
    case server
}

extension RoomRequest {
    public var asker: Asker {
        switch origin {
        case .session(let session): .session(session.address.session)
        case .server: .server
        }
    }

    /// The session that asks; nil for the server API.
    public var session: SessionOrigin? {
        get { if case .session(let session) = origin { session } else { nil } }
        set { if let newValue { self = RoomRequest(room: room, from: newValue, body) } }
    }

    /// The number under which the asker waits; nil wants no reply.
    public var number: UInt32? {
        switch origin {
        case .session(let session): session.request
        case .server(let server): server.request
        }
    }

    /// The node at which the asker is.
    public var node: NodeID {
        switch origin {
        case .session(let session): session.address.node
        case .server(let server): server.node
        }
    }

    /// Whether somebody asks; else a lane tells where its sessions are.
    public var isAsked: Bool {
        switch body {
        case .operation, .server: true
        case .leave, .away, .moved, .announce, .follow, .barrages, .taps: false
        }
    }

    /// Whether a leader that has it already does nothing twice when it comes once more: reads do nothing, what is
    /// durable has a command ID, and who enters or leaves again is where it was. Barrage has none, and would be shown
    /// twice.
    public var isKnownWhenRepeated: Bool {
        switch body {
        case .operation(.barrage), .server(.barrage): false
        default: true
        }
    }

    /// Whether it is asked once more of a leader that has not answered it for long.
    var isAskedAgain: Bool {
        switch body {
        // Most are this one, and need not be looked into.
        case .operation(.send): true
        // Reading history once more would cost as much again.
        case .operation(let operation) where operation.row.handling == .reading: false
        case .server(.message), .server(.copies): false
        default: isKnownWhenRepeated
        }
    }

    /// Whether only the present leader may answer it, because its answer tells what is; a change gets to know that with
    /// its commit.
    public var mustBeCurrent: Bool {
        switch body {
        // Most are this one, and need not be looked into.
        case .operation(.send): false
        case .operation(let operation): operation.row.mustBeCurrent
        case .server(let operation): !operation.isDurable
        case .leave, .away, .moved, .announce, .follow, .barrages, .taps: false
        }
    }
}
