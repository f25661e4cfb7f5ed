import ChatModel
import Wire

/// A question of one node to another. A node that can't answer, for example because it does not lead the shard, says so
/// by an error: 503 when that may change soon.
public enum NodeQuestion: Sendable, Equatable {
    /// Why a room is slow or silent, apart from its viewers: answered also without a leader, with the node's own
    /// figures.
    case explain(RoomID)
    /// Rooms of the shards that the node leads, in the order of their IDs.
    case rooms(after: RoomID?, limit: Int)
    /// The same of deleted rooms that can be restored.
    case deletedRooms(after: RoomID?, limit: Int)
    /// Rooms in memory of the shards that the node leads, those with the most people first. `after`: a cursor.
    case onlineRooms(after: String?, limit: Int)
    /// A change of the system group, asked of its leader.
    case propose(SystemCommand, key: String?)
    /// Which cluster the node belongs to.
    case cluster
    /// Takes the asking node in; asked of the system group's leader.
    case join(NodeRecord)
    case status
    /// How many rooms there are of the shards that the node leads. Counts rows of the catalogue.
    case roomCount
    case sessions(of: UserID)
    /// A page of the node's sessions, in the order of their IDs.
    case sessionPage(after: String?, limit: Int)
    case slowSessions(limit: Int)
    /// Ends the user's sessions at the node with 4403.
    case endSessions(of: UserID)
    /// Ends one session with 4403.
    case endSession(SessionID)
    /// Shows a message to the user's connected sessions at the node.
    case direct(Message, to: UserID)
    /// Shows a message to everyone connected to the node.
    case broadcast(Message)
    /// The figures of the node's lanes with viewers of the room.
    case lanes(RoomID)
    /// Hands the leadership of a shard over; asked of its leader.
    case transfer(ShardID, to: NodeID)
    /// The node's knowledge of the shards that it holds.
    case shards
    /// The node's record of who did what, its own calls and copies of others', newest first.
    case audit(AuditQuery)
    /// Keeps copies of what another node has recorded.
    case keepAudit([AuditItem])
    /// The node's activity at the moment.
    case figures
    case setLogLevel(LogLevel)
    /// Copies what the node leads into a directory of that name.
    case backup(String)
    /// Gives a session up to the asking node, where its client has come back: as `user`, or, if it is an anonymous one
    /// (nil), by its secret alone. 404 for one that the node does not hold, or holds for somebody else.
    case migrateSession(SessionID, to: UserID?)
    /// The time of its wall clock.
    case clock
    /// Removes what a `backup` of that name has left, because it did not become a whole one.
    case discardBackup(String)
    /// A piece of content that the node is to store: answered with a count, the status of HTTP.
    case mediaWrite(MediaPiece)
    /// All pieces have been sent: the content is to be checked, synced, and put in its place. Answered like a piece.
    case mediaFinish(MediaFile, transfer: String, size: Int64)
    /// A part of stored content, answered by `bytes`.
    case mediaRead(MediaFile, offset: Int64, count: Int)
    /// Whether the node has the content: answered with a count, 1 or 0. It must have `size` bytes, unless that is 0; and they must
    /// be the right ones, where the question is thorough.
    case mediaHas(MediaFile, size: Int64, isThorough: Bool)
    /// The content is to be there for another room, too; answered like a piece.
    case mediaLink(MediaFile, to: RoomID)
    /// Takes bytes from what a user may send in a day; 416 when they are too many.
    case mediaUse(UserID, bytes: Int64)
    /// Tells how much a user has sent today, as the asking node knows it; answered by all that the node then knows.
    case mediaUses(UploadUse)
    /// Asks for users' sessions at the node, and tells it of those at the asking one.
    case devices(DeviceNews)
    /// Tells which listed nodes the asking node does not reach; answered with the same of the node.
    case reach(ReachNews)
    /// A question of a later version: answered with an error.
    case unknown
}

/// A node's answer to a `NodeQuestion`.
public enum NodeAnswer: Sendable, Equatable {
    case explanation(RoomExplanation)
    /// To `rooms`, `deletedRooms` and `onlineRooms`. `next`: the cursor of the node's next page.
    case rooms([RoomView], next: String?)
    /// To `propose` and `join`: what it has brought, never `.refused`, and the log index at which it was applied.
    case applied(SystemResult, index: UInt64)
    case cluster(id: String, shardCount: UInt16)
    case status(NodeStatus)
    /// To `sessions`, `sessionPage` and `slowSessions`.
    case sessions([SessionView], next: String?)
    /// How many: to `roomCount`, `endSessions`, `direct` and `broadcast`; to `endSession` 0 when there was none.
    case count(Int)
    case lanes([LaneFigures])
    case shards([ShardView])
    case audit([AuditItem])
    case figures(NodeFigures)
    /// Where the copies are, of which shards, and whether the system group's state is among them.
    case backup(BackupCopy, shards: [ShardID], hasSystem: Bool)
    case session(HandedSession)
    case clock(Timestamp)
    case bytes([UInt8])
    case devices(DeviceNews)
    case reach(ReachNews)
    case mediaUses(UploadUse)
    /// To `transfer`, `keepAudit`, `setLogLevel` and `discardBackup`.
    case done
}

/// How a node is.
public struct NodeStatus: Sendable, Hashable {
    public var node: NodeID
    /// The version of its program.
    public var version: String
    /// The highest feature level that its program can do.
    public var level: FeatureLevel
    /// The URLs that it tells clients.
    public var gateways: [String]
    public var leads: [ShardID]
    /// Its sessions and connections; the rooms that it leads and the people in them; its start and its clock.
    public var stats: StatsView
    /// Is another one where the token keys of its keys file are others; nil: a program of before that says nothing of it.
    public var tokenKeys: String?

    public init(
        node: NodeID, version: String, level: FeatureLevel = .first, gateways: [String], leads: [ShardID],
        stats: StatsView, tokenKeys: String? = nil
    ) {
        self.node = node
        self.version = version
        self.level = level
        self.gateways = gateways
        self.leads = leads
        self.stats = stats
        self.tokenKeys = tokenKeys
    }
}
