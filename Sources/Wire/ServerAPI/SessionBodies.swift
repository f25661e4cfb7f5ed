import ChatModel

/// A session as operators see it.
public struct SessionView: WireMessage, Hashable {
    public var session: SessionID
    public var user: UserID
    public var node: NodeID
    public var anonymous = false
    public var device = Device.web
    /// False while the client is away and its grace runs.
    public var connected = false
    /// The address of the client's connection, as the node sees it.
    public var address: String?
    public var startedAt = Timestamp(0)
    /// When its token ends; absent for an anonymous one.
    public var expiresAt: Timestamp?
    public var rooms: [RoomID] = []
    /// It does not take what it is sent.
    public var slow = false
    public var waitingBytes: Int64 = 0
    /// Messages and barrage items that it was not given, and has not been told of.
    public var lost: Int64 = 0

    public static var blank: SessionView { SessionView(session: .blank, user: .blank, node: .blank) }
    public static var schemaName: String { "Session" }

    public init(session: SessionID, user: UserID, node: NodeID) {
        self.session = session
        self.user = user
        self.node = node
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "user", &user)
        try walker.required(3, "node", &node)
        try walker.shown(4, "anonymous", &anonymous)
        try walker.required(5, "device", &device)
        try walker.shown(6, "connected", &connected)
        try walker.optional(7, "address", &address)
        try walker.shown(8, "startedAt", &startedAt)
        try walker.optional(9, "expiresAt", &expiresAt)
        try walker.list(10, "rooms", &rooms)
        try walker.shown(11, "slow", &slow)
        try walker.shown(12, "waitingBytes", &waitingBytes)
        try walker.shown(13, "lost", &lost)
    }

    /// The order of slow sessions: those that lose most, then those for which most waits. Bytes alone would put the worst last:
    /// a session that has lost something gets nothing more of its rooms until it has been told, so nearly nothing waits for it.
    public static func isWorse(_ one: SessionView, than other: SessionView) -> Bool {
        if one.lost != other.lost { return one.lost > other.lost }
        if one.waitingBytes != other.waitingBytes { return one.waitingBytes > other.waitingBytes }
        return one.session.text < other.session.text
    }
}

/// {sessions, [next]}.
public struct SessionsView: WireMessage, Hashable {
    public var sessions: [SessionView]
    public var next: String?
    /// Nodes that did not answer: their sessions are not among these.
    public var missing: [NodeID]

    public static var blank: SessionsView { SessionsView(sessions: []) }
    public static var schemaName: String { "Sessions" }

    public init(sessions: [SessionView], next: String? = nil, missing: [NodeID] = []) {
        self.sessions = sessions
        self.next = next
        self.missing = missing
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "sessions", &sessions)
        try walker.optional(2, "next", &next)
        try walker.repeated(3, "missing", &missing)
    }
}
