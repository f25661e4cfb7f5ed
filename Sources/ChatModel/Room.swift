/// The users that may enter a room (PROTOCOL.md, "Entry").
public enum EntryLevel: String, Sendable, Hashable, CaseIterable {
    case anyone = "ANYONE"
    case users = "USERS"
    case invited = "INVITED"
}

/// The users that may change the queue (PROTOCOL.md, "Seats").
public enum QueueLevel: String, Sendable, Hashable, CaseIterable {
    case any = "ANY"
    case owner = "OWNER"
    case manager = "MANAGER"
}

/// The members whose enters and exits are told (301, 302, 350).
public enum EnterExitNotify: String, Sendable, Hashable, CaseIterable {
    case all = "ALL"
    case fixedOnly = "FIXED_ONLY"
    case none = "NONE"
}

/// The durable facts about a room, without its members and queue.
public struct RoomInfo: Sendable, Hashable {
    public var id: RoomID
    public var creator: UserID
    public var name = ""
    public var announcement = ""
    public var ext = ""
    public var broadcastUrl = ""
    public var entry = EntryLevel.anyone
    public var queueLevel = QueueLevel.any
    public var enterExitNotify = EnterExitNotify.all
    public var slowModeSeconds: Int64 = 0
    /// Closes the room after that long without anyone in it, robots aside; 0 is never.
    public var idleCloseSeconds: Int64 = 0
    /// Reliable messages a second to one viewer of a big room; nil is the node's setting.
    public var viewerBudget: Int64?
    /// HIGH messages a second, and as many HIGH barrages; nil is the node's setting.
    public var highPerSecond: Int64?
    /// How many transient elements a user may own; 0 is any number.
    public var seatsPerUser: Int64 = 0
    /// For how many days messages are visible; nil is the node's setting.
    public var historyDays: Int64?
    public var muted = false
    public var closed = false
    /// Those that have expired since the last change are among them.
    public var pinned: [PinnedMessage] = []
    public var createdAt: Timestamp

    public init(id: RoomID, creator: UserID, createdAt: Timestamp) {
        self.id = id
        self.creator = creator
        self.createdAt = createdAt
    }
}

/// The fields that `updateRoom`, PATCH and room creation may set; nil leaves a field as it is. It is also `data.set` of
/// 312.
public struct RoomChanges: Sendable, Hashable {
    public var name: String?
    public var announcement: String?
    public var ext: String?
    public var broadcastUrl: String?
    /// Server API only.
    public var entry: EntryLevel?
    public var queueLevel: QueueLevel?
    public var enterExitNotify: EnterExitNotify?
    public var slowModeSeconds: Int64?
    /// Server API only.
    public var idleCloseSeconds: Int64?
    /// Server API only.
    public var viewerBudget: Int64?
    /// Server API only.
    public var highPerSecond: Int64?
    /// Server API only.
    public var seatsPerUser: Int64?
    /// Server API only.
    public var historyDays: Int64?

    public init() {}
}

/// A room as clients and app servers see it: its facts and how many are here.
public struct RoomView: Sendable, Hashable {
    public var info: RoomInfo
    /// Everybody here: anonymous members and robots included.
    public var online: Int64
    /// Server API only.
    public var shard: ShardID?
    /// Server API only.
    public var leader: NodeID?
    /// Only of a deleted room that can be restored, as `purgeAt`. Server API only.
    public var deletedAt: Timestamp?
    /// When it is gone for good.
    public var purgeAt: Timestamp?

    public init(info: RoomInfo, online: Int64, shard: ShardID? = nil, leader: NodeID? = nil) {
        self.info = info
        self.online = online
        self.shard = shard
        self.leader = leader
    }
}
