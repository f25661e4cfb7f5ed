import ChatModel

/// Answer of GET /v1/rooms/{room}/explain: why a room is slow or silent, in words and numbers.
public struct RoomExplanation: WireMessage, Hashable {
    /// Plain sentences, troubles first.
    public var summary: [String] = []
    public var room: RoomID
    /// When the numbers were read.
    public var time: Timestamp
    public var log = LogFigures()
    /// Absent while the room has no leader.
    public var state: StateFigures?
    /// A gateway's lanes with viewers of the room.
    public var lanes: [LaneFigures] = []

    public static var blank: RoomExplanation { RoomExplanation(room: .blank, time: .blank) }

    public init(room: RoomID, time: Timestamp) {
        self.room = room
        self.time = time
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "summary", &summary)
        try walker.required(2, "room", &room)
        try walker.required(3, "time", &time)
        try walker.required(4, "log", &log)
        try walker.optional(5, "state", &state)
        try walker.list(6, "lanes", &lanes)
    }
}

/// The shard of a room and its log.
public struct LogFigures: WireMessage, Hashable {
    public var shard: UInt32 = 0
    /// Absent: nobody leads the shard.
    public var leader: NodeID?
    public var term: UInt64 = 0
    /// Log indices: what is safe on disk at a majority, and what of it the rooms have applied.
    public var committed: UInt64 = 0
    public var applied: UInt64 = 0
    /// Changes of this shard's rooms that are not committed yet.
    public var uncommitted: Int64 = 0
    /// How long the node's last sync of the log took.
    public var syncMs: Double = 0
    /// The log can't be written; the node keeps trying.
    public var isFailing = false
    /// History can't keep up: changes are refused until it does.
    public var isOverloaded = false

    public static var blank: LogFigures { LogFigures() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "shard", &shard)
        try walker.optional(2, "leader", &leader)
        try walker.shown(3, "term", &term)
        try walker.shown(4, "committed", &committed)
        try walker.shown(5, "applied", &applied)
        try walker.shown(6, "uncommitted", &uncommitted)
        try walker.shown(7, "syncMs", &syncMs)
        try walker.shown(8, "failing", &isFailing)
        try walker.shown(9, "overloaded", &isOverloaded)
    }
}

/// The room as its leader knows it.
public struct StateFigures: WireMessage, Hashable {
    public var closed = false
    public var muted = false
    public var slowModeSeconds: Int64 = 0
    public var online: Int64 = 0
    /// Sessions of all devices, those that are away in their grace included.
    public var sessions: Int64 = 0
    public var robots: Int64 = 0
    /// Above so many online enters and exits of guests become a digest.
    public var digestAboveOnline: Int64 = 0
    public var enterExitNotify = EnterExitNotify.all
    /// Reliable messages a second to one viewer of a big room.
    public var viewerBudget: Int64 = 0
    /// A room is big above so many online.
    public var viewerBudgetAboveOnline: Int64 = 0
    public var lastSeq: UInt64 = 0
    /// The time of the newest kept message or notification.
    public var lastMessageAt: Timestamp?
    /// When the room came into memory: what follows counts from then.
    public var activeSince: Timestamp = .blank
    public var barrageShown: Int64 = 0
    /// Left out by the sample.
    public var barrageDropped: Int64 = 0
    /// Left out by the viewer budget.
    public var messagesDropped: Int64 = 0

    public static var blank: StateFigures { StateFigures() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "closed", &closed)
        try walker.shown(2, "muted", &muted)
        try walker.shown(3, "slowModeSeconds", &slowModeSeconds)
        try walker.shown(4, "online", &online)
        try walker.shown(5, "sessions", &sessions)
        try walker.shown(6, "robots", &robots)
        try walker.shown(7, "digestAboveOnline", &digestAboveOnline)
        try walker.shown(8, "enterExitNotify", &enterExitNotify)
        try walker.shown(9, "viewerBudget", &viewerBudget)
        try walker.shown(10, "lastSeq", &lastSeq)
        try walker.optional(11, "lastMessageAt", &lastMessageAt)
        try walker.shown(12, "activeSince", &activeSince)
        try walker.shown(13, "barrageShown", &barrageShown)
        try walker.shown(14, "barrageDropped", &barrageDropped)
        try walker.shown(15, "viewerBudgetAboveOnline", &viewerBudgetAboveOnline)
        try walker.shown(16, "messagesDropped", &messagesDropped)
    }
}

/// The viewers of a room on one lane of a gateway.
public struct LaneFigures: WireMessage, Hashable {
    public var node: NodeID
    public var lane: Int64
    public var viewers: Int64 = 0
    /// Viewers for whom something waits because their connection is full, or who have not been told what they lost.
    public var slow: Int64 = 0
    /// Bytes that wait for the slow ones, and for the slowest of them.
    public var waitingBytes: Int64 = 0
    public var waitingBytesMax: Int64 = 0
    /// Messages that slow viewers were not given since the first of the viewers who are here came.
    public var messagesDropped: Int64 = 0
    public var barrageDropped: Int64 = 0

    public static var blank: LaneFigures { LaneFigures(node: .blank, lane: 0) }

    public init(node: NodeID, lane: Int64) {
        self.node = node
        self.lane = lane
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.shown(2, "lane", &lane)
        try walker.shown(3, "viewers", &viewers)
        try walker.shown(4, "slow", &slow)
        try walker.shown(5, "waitingBytes", &waitingBytes)
        try walker.shown(6, "waitingBytesMax", &waitingBytesMax)
        try walker.shown(7, "messagesDropped", &messagesDropped)
        try walker.shown(8, "barrageDropped", &barrageDropped)
    }
}
