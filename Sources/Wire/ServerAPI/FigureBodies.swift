import ChatModel

/// A node's activity at the moment: rates are of the last ten seconds, times are percentiles of them (PROTOCOL.md, "Figures").
public struct NodeFigures: WireMessage, Hashable {
    public var node: NodeID
    public var version = ""
    public var uptimeSeconds: Int64 = 0
    public var connections: Int64 = 0
    public var sessions: Int64 = 0
    /// Sessions that do not take what they are sent.
    public var slowSessions: Int64 = 0
    /// Rooms with somebody in them, of the shards that the node leads.
    public var rooms: Int64 = 0
    /// Everybody in them.
    public var online: Int64 = 0
    /// Shards that it leads.
    public var leads: Int64 = 0
    /// Entries of these shards' logs that are not committed yet.
    public var commitLag: Int64 = 0
    /// Kept and unkept messages that rooms led by this node have acked.
    public var sendsPerSecond = 0.0
    /// Messages times the viewers at this node that they were written to.
    public var deliveriesPerSecond = 0.0
    /// Barrage items times the viewers at this node that they were written to.
    public var barragePerSecond = 0.0
    public var sentBytesPerSecond = 0.0
    /// From a room's taking up a send until its ack; nil without any.
    public var ackP50Ms: Double?
    public var ackP99Ms: Double?
    /// From a message's stamp until it was written to the viewers of a loop; nil without any.
    public var deliverP50Ms: Double?
    public var deliverP99Ms: Double?
    /// CPU time of the process by the clock: 100 is one core.
    public var cpuPercent = 0.0
    public var memoryBytes: Int64 = 0
    public var diskFreeBytes: Int64 = 0
    public var drops: [DropFigures] = []

    public static var blank: NodeFigures { NodeFigures(node: .blank) }
    public static var schemaName: String { "NodeFigures" }

    public init(node: NodeID) { self.node = node }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.shown(2, "version", &version)
        try walker.shown(3, "uptimeSeconds", &uptimeSeconds)
        try walker.shown(4, "connections", &connections)
        try walker.shown(5, "sessions", &sessions)
        try walker.shown(6, "slowSessions", &slowSessions)
        try walker.shown(7, "rooms", &rooms)
        try walker.shown(8, "online", &online)
        try walker.shown(9, "leads", &leads)
        try walker.shown(10, "commitLag", &commitLag)
        try walker.shown(11, "sendsPerSecond", &sendsPerSecond)
        try walker.shown(12, "deliveriesPerSecond", &deliveriesPerSecond)
        try walker.shown(13, "barragePerSecond", &barragePerSecond)
        try walker.shown(14, "sentBytesPerSecond", &sentBytesPerSecond)
        try walker.optional(15, "ackP50Ms", &ackP50Ms)
        try walker.optional(16, "ackP99Ms", &ackP99Ms)
        try walker.optional(17, "deliverP50Ms", &deliverP50Ms)
        try walker.optional(18, "deliverP99Ms", &deliverP99Ms)
        try walker.shown(19, "cpuPercent", &cpuPercent)
        try walker.shown(20, "memoryBytes", &memoryBytes)
        try walker.shown(21, "diskFreeBytes", &diskFreeBytes)
        try walker.list(22, "drops", &drops)
    }
}

/// Losses of a node's viewers.
public struct DropFigures: WireMessage, Hashable {
    public var `class`: String
    public var cause: String
    public var perSecond: Double

    public static var blank: DropFigures { DropFigures(class: "", cause: "", perSecond: 0) }
    public static var schemaName: String { "DropFigures" }

    public init(class: String, cause: String, perSecond: Double) {
        self.class = `class`
        self.cause = cause
        self.perSecond = perSecond
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "class", &`class`)
        try walker.shown(2, "cause", &cause)
        try walker.shown(3, "perSecond", &perSecond)
    }
}

/// The figures of all nodes.
public struct FiguresView: WireMessage, Hashable {
    public var time = Timestamp(0)
    public var nodes: [NodeFigures] = []
    /// Listed nodes that have not answered.
    public var missing: [NodeID] = []

    public static var blank: FiguresView { FiguresView() }
    public static var schemaName: String { "Figures" }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "time", &time)
        try walker.list(2, "nodes", &nodes)
        try walker.list(3, "missing", &missing)
    }
}
