/// The answer to a command's sender. Rare and large ones stand elsewhere, so that the answer to a post is small to copy.
public enum CommandResult: Sendable, Hashable {
    case done
    indirect case room(RoomInfo)
    /// `delivered`: to how many of those named in `to`; nil for a message to everybody.
    case posted(
        messageID: String, place: MessagePlace, time: Timestamp, priority: Priority, delivered: Int64? = nil)
    indirect case member(Member)
    indirect case element(QueueElement)
    /// Keys that were not in the queue.
    case missing([String])
    case pinned([PinnedMessage])
    case amended(Message)
    /// The same of a repeat: the message is looked up again.
    case amendedBefore(messageID: String)
    indirect case tally(Tally)
    /// The results of a window: see `TapMemory.results`; none for one that came again after a later one.
    case tapped([Int64])
    indirect case upload(UploadTicket)
    indirect case poll(Poll)
    /// A post waits for a manager.
    case held(heldID: String)
    /// A held message was decided: the message that it became, or as it was held.
    case decided(Message)
    /// The same of a repeat: the message that it became is looked up again; nil: it was denied.
    case decidedBefore(messageID: String?)
    indirect case imported(ImportResult)
    indirect case refused(ChatError)
}

/// A consequence of an applied command. `apply` decides all of it; the host only performs it, in this order.
public enum Effect: Sendable, Hashable {
    /// A row of the room's catalogue has changed.
    case catalogue(CatalogueChange)
    /// The room's own row has, as it does with each message: whoever writes it takes it from the state, at the end of a turn
    /// and not for each command.
    case roomChanged
    /// The copies of the COMBINE that the next `append` keeps, which the command itself does not bring along.
    case keepCopies([Message])
    /// A kept message came into being.
    case append(Message, commandKey: CommandKey?)
    /// A kept message was recalled: its row loses its body.
    case erase(seq: UInt64, day: Int64)
    /// A kept message was amended: this takes the place of its row.
    case amend(Message)
    /// To show to those who are here: kept and unkept messages and notifications.
    case publish(Message)
    /// Kept messages that nobody is shown: those who are here are told that they are in history only.
    case leaveOut(ClosedRange<UInt64>)
    /// A message waits for managers, who are told.
    indirect case held(HeldRecord)
    /// A held message was denied: its sender is told.
    indirect case denied(DeniedRecord)
    /// The user's sessions leave the room at once.
    case kick(UserID, reason: KickReason, ext: String?)
    /// Everybody leaves: the room was closed or deleted.
    case kickAll(reason: KickReason, ext: String?)
    /// Robots are here from now on, or show another profile.
    case robotsEnter([Robot])
    /// Robots have left.
    case robotsExit([UserID])
    /// The room's incarnation is over: all its rows go, except the `.command` and `.webhook` rows, which outlive it,
    /// and its history is unreachable from here on.
    case retire(Incarnation)
    /// The answer. Exactly one per command, always last.
    case result(CommandResult)
}

/// The 128-bit hash of a `CommandID`, under which results are remembered.
public struct CommandKey: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// The kinds of rows in a shard's catalogue. The raw value is on disk.
public enum CatalogueKind: UInt8, Sendable, Hashable, CaseIterable {
    /// One per room ID: `RoomInfo`, incarnation, last seq.
    case room = 1
    /// A fixed member, or anyone who is muted or banned for a time: `MemberRecord`; key: the user.
    case member = 2
    /// A queue element; key: the element's.
    case queue = 4
    /// The remembered result of a command that leaves no history row; key: the command key.
    case command = 5
    /// When a user last spoke, while slow mode is on; key: the user.
    case slow = 6
    /// A robot, which no session keeps here: `RobotRecord`; key: the user.
    case robot = 7
    /// The app's webhook is owed something; key: empty.
    case webhook = 8
    /// In place of `.room`: the room was deleted and can be restored; key: empty.
    case deletedRoom = 9
    /// A counter: `Tally`; key: the tally's.
    case tally = 13
    /// The last window of taps of a lane's life: `TapMemory`; key: the life.
    case taps = 14
    /// Content of the room; key: its ID.
    case upload = 16
    /// A poll that is open, or was closed lately: `PollRecord`; key: the poll's ID.
    case poll = 15
    /// Some of a poll's votes: `PollVotes`; key: the poll's number and the part.
    case votes = 17
    /// A report of a message: `MessageReport`; key: its ID.
    case report = 22
    /// A message that waits for a manager; key: its `heldId`.
    case held = 20
    /// One that was denied, for a while; key: the same.
    case denied = 21
    /// That a message was held, which the app's webhook is owed: `RoomLifeEvent`; key: the log entry that did it. The row
    /// `.webhook` says that there are any.
    case owedHeld = 30
}

/// One row of a room's catalogue put or removed (`value` nil). Values are encoded by the host, keys are text.
public struct CatalogueChange: Sendable, Hashable {
    public var kind: CatalogueKind
    public var key: String
    public var value: CatalogueValue?
    /// When the room must be given an `expire` because of this row, also if nobody has opened the room by then.
    public var deadline: Timestamp?

    public init(kind: CatalogueKind, key: String, value: CatalogueValue?, deadline: Timestamp? = nil) {
        self.kind = kind
        self.key = key
        self.value = value
        self.deadline = deadline
    }
}

/// The content of a catalogue row.
public indirect enum CatalogueValue: Sendable, Hashable {
    case room(RoomRecord)
    case member(MemberRecord)
    case queue(QueueElement, position: Int64)
    case command(CommandMemory)
    case time(Timestamp)
    case robot(RobotRecord)
    case webhook(WebhookRecord)
    case deletedRoom(DeletedRoomRecord)
    case tally(Tally)
    case taps(TapMemory)
    case upload(UploadRecord)
    case poll(PollRecord)
    case votes(PollVotes)
    case report(MessageReport)
    case held(HeldRecord)
    case denied(DeniedRecord)
    case owedHeld(RoomLifeEvent)
}

/// A robot that is here, as its room keeps it.
public struct RobotRecord: Sendable, Hashable {
    public var profile: Profile
    public var enteredAt: Timestamp

    public init(profile: Profile, enteredAt: Timestamp) {
        self.profile = profile
        self.enteredAt = enteredAt
    }
}

/// The room's own row.
public struct RoomRecord: Sendable, Hashable {
    public var info: RoomInfo
    public var incarnation: Incarnation
    public var lastSeq: UInt64
    /// The position that the next new queue element gets.
    public var nextQueuePosition: Int64
    /// When the last HIGH messages were accepted, oldest first: only those of the last second count, and it is on
    /// disk so that a replica that restarts in that second decides like the others.
    public var recentHigh: [Timestamp] = []
    /// Those of the server API, which has as many again.
    public var recentServerHigh: [Timestamp] = []
    /// Since when nobody has been here, as far as the log knows; nil while somebody is. Kept up to date while the room
    /// closes when it is idle.
    public var emptySince: Timestamp?
    /// Users that were put out lately, the latest last. It is on disk so that a leader that was not there knows it too,
    /// when a gateway says late that one of them is here. No command is decided by it: programs of before lack it.
    public var kicks: [RecordedKick] = []
    /// When everybody was put out, at last.
    public var everybodyOutAt: Timestamp?

    /// When the room closes if nobody enters; nil: never, or not while somebody is here.
    public var idleDeadline: Timestamp? {
        guard info.idleCloseSeconds > 0, !info.closed, let emptySince else { return nil }
        return emptySince.adding(seconds: info.idleCloseSeconds)
    }

    /// The deadline of the room's row. A room that may close is looked at by a new leader, who does not know who was
    /// here.
    public var deadline: Timestamp? {
        info.idleCloseSeconds > 0 && !info.closed ? idleDeadline ?? .atNewLeader : nil
    }
    /// How long messages have been kept.
    public var lives = RoomLives()
    /// How many robots are here: what a listing counts while the room is not in memory.
    public var robots: Int64 = 0

    public init(info: RoomInfo, incarnation: Incarnation, lastSeq: UInt64 = 0, nextQueuePosition: Int64 = 1) {
        self.info = info
        self.incarnation = incarnation
        self.lastSeq = lastSeq
        self.nextQueuePosition = nextQueuePosition
    }
}

/// A user that was put out of a room, as the room keeps it.
public struct RecordedKick: Sendable, Hashable {
    /// A room's row keeps no more than this: it is written with each change.
    public static let countMax = 64

    public var user: UserID
    public var time: Timestamp
    public var reason: KickReason

    public init(_ user: UserID, at time: Timestamp, _ reason: KickReason) {
        self.user = user
        self.time = time
        self.reason = reason
    }
}

/// A deleted room that can be restored, as it will be then. Its members and its queue keep their rows.
public struct DeletedRoomRecord: Sendable, Hashable {
    public var room: RoomRecord
    public var deletedAt: Timestamp
    /// When it is gone for good.
    public var purgeAt: Timestamp

    public init(room: RoomRecord, deletedAt: Timestamp, purgeAt: Timestamp) {
        self.room = room
        self.deletedAt = deletedAt
        self.purgeAt = purgeAt
    }
}

/// A user who may be away, as the room remembers it: role, flags, saved profile, what ends when.
public struct MemberRecord: Sendable, Hashable {
    public var role: FixedMemberRole
    public var muted = false
    public var blacklisted = false
    public var tempMutedUntil: Timestamp?
    public var bannedUntil: Timestamp?
    /// Only for an anonymous member who was blacklisted.
    public var barredAddress: BarredAddress?
    public var savedProfile: Profile?
    public var since: Timestamp

    public init(role: FixedMemberRole, since: Timestamp) {
        self.role = role
        self.since = since
    }
}

/// The address of an anonymous member who was blacklisted: nobody enters anonymously from there for a while.
public struct BarredAddress: Sendable, Hashable {
    /// The hash by which gateways know the address; not the address itself.
    public var hash: UInt64
    public var until: Timestamp

    public init(hash: UInt64, until: Timestamp) {
        self.hash = hash
        self.until = until
    }
}

/// The durable standing; RESTRICTED follows from the flags of somebody with `none`.
public enum FixedMemberRole: String, Sendable, Hashable, CaseIterable {
    case creator = "CREATOR"
    case manager = "MANAGER"
    case normal = "NORMAL"
    case none = "NONE"
}
