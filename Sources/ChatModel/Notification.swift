/// Events, by NIM's numbers (PROTOCOL.md, "Codes").
public enum EventCode: Int, Sendable, Hashable, CaseIterable {
    /// The events that this version knows.
    public static let allCases: [EventCode] = [
        .enter, .exit, .blacklisted, .unblacklisted, .muted, .unmuted, .managerSet, .managerRemoved, .madeFixedMember,
        .fixedMemberRemoved, .roomClosed, .roomInfoUpdated, .kicked, .temporarilyMuted, .temporaryMuteLifted,
        .memberUpdatedInfo, .queueChanged, .roomMuted, .roomUnmuted, .queueBatchChanged, .recalled, .digest,
        .amended, .pinsChanged, .pollOpened, .pollClosed,
    ]

    case enter = 301
    case exit = 302
    case blacklisted = 303
    case unblacklisted = 304
    case muted = 305
    case unmuted = 306
    case managerSet = 307
    case managerRemoved = 308
    case madeFixedMember = 309
    case fixedMemberRemoved = 310
    case roomClosed = 311
    case roomInfoUpdated = 312
    case kicked = 313
    case temporarilyMuted = 314
    case temporaryMuteLifted = 315
    case memberUpdatedInfo = 316
    case queueChanged = 317
    case roomMuted = 318
    case roomUnmuted = 319
    case queueBatchChanged = 320
    case recalled = 323
    case digest = 350
    case amended = 360
    case pinsChanged = 361
    case pollOpened = 362
    case pollClosed = 363
    /// Read by a client: an event of a later version, whose code is in the notification's data. Nobody sends it.
    case unknown = 0

    /// Enter, exit and their digest are pushed without a seq; all others are kept.
    public var isKept: Bool {
        switch self {
        case .enter, .exit, .digest: false
        default: true
        }
    }
}

/// One element of a room's queue (mic seat, song).
public struct QueueElement: Sendable, Hashable {
    public var key: String
    public var value: String
    public var owner: UserID
    public var transient = false
    /// Grows by one with each overwrite, starting at 1.
    public var version: Int64 = 1
    /// Only managers change it.
    public var locked = false
    /// The owner has gone, and the element goes when the grace has passed. Soft: set by the leader on reading.
    public var held = false

    public init(key: String, value: String, owner: UserID) {
        self.key = key
        self.value = value
        self.owner = owner
    }
}

/// The kind of change of the queue: `data.change` of 317 and 320.
public enum QueueChange: String, Sendable, Hashable, CaseIterable {
    case offer = "OFFER"
    case update = "UPDATE"
    case poll = "POLL"
    case drop = "DROP"
    case partClear = "PARTCLEAR"
    case batchUpdate = "BATCH_UPDATE"
}

/// Somebody named in a digest (350).
public struct DigestMember: Sendable, Hashable {
    public var user: UserID
    public var profile: Profile
    public var notifyExt: String?

    public init(user: UserID, profile: Profile, notifyExt: String?) {
        self.user = user
        self.profile = profile
        self.notifyExt = notifyExt
    }
}

/// The typed `data` of a notification; which case goes with which event is fixed (PROTOCOL.md, "Notifications").
public enum NotificationData: Sendable, Hashable {
    case none
    /// 301.
    case entered(avatar: String, ext: String, role: Role, online: Int64)
    /// 302.
    case exited(online: Int64)
    /// 312.
    case room(set: RoomChanges)
    /// 316.
    case member(set: ProfileChanges)
    /// 314.
    case seconds(Int64)
    /// 317; no element for DROP.
    case queue(change: QueueChange, element: QueueElement?)
    /// 320.
    case queueBatch(change: QueueChange, elements: [QueueElement])
    /// 323.
    case recalled(messageIDs: [String])
    /// 360.
    indirect case amended(messageID: String, seq: UInt64, set: MessageChanges, editedAt: Timestamp)
    /// 361: all that are pinned now.
    case pinned([PinnedMessage])
    /// 362, 363.
    case poll(Poll)
    /// 350.
    case digest(entered: Int64, exited: Int64, online: Int64, members: [DigestMember])
    /// Read by a client: what an event of a later version has is not looked at.
    case unknown(event: Int64)
}

/// The fields that `updateMe` may set; nil leaves a field as it is. It is also `data.set` of 316.
public struct ProfileChanges: Sendable, Hashable {
    public var nick: String?
    public var avatar: String?
    public var ext: String?

    public init(nick: String? = nil, avatar: String? = nil, ext: String? = nil) {
        self.nick = nick
        self.avatar = avatar
        self.ext = ext
    }
}

/// A message that the room itself emits when something changed.
public struct Notification: Sendable, Hashable {
    public var event: EventCode
    /// Absent: the system.
    public var `operator`: UserName?
    public var targets: [UserName] = []
    public var notifyExt: String?
    public var data = NotificationData.none

    public init(_ event: EventCode) { self.event = event }
}
