/// Which try of which client a command is, so that any repeat of it (by client, gateway or router) changes nothing
/// and gets the first result (PROTOCOL.md, "Retry").
public struct CommandID: Sendable, Hashable {
    /// The user who sends, or a name outside the user alphabet for the server API's and the leader's own commands.
    public var scope: String
    /// The client's `clientId`, else made from session and request.
    public var text: String

    public init(scope: String, text: String) {
        self.scope = scope
        self.text = text
    }
}

/// The actor, with the facts that the leader knows about the actor and that `apply` may not look up.
public enum Actor: Sendable, Hashable {
    /// The room itself (a deadline has passed) or the server API without `operator`: above every rank.
    case system
    /// The server API in the name of a user, who is shown: a message's sender, or an operator with the rank of his own.
    case server(UserName)
    /// The server API in the name of somebody who moderates by it: shown, and above every rank like the system.
    case moderator(UserName)
    /// A user who is in the room, with the profile of that stay.
    case member(UserID, Profile, anonymous: Bool)

    public var user: UserID? {
        switch self {
        case .system, .moderator: nil
        case .server(let name): name.user
        case .member(let user, _, _): user
        }
    }
}

/// The part of a notification that the caller decides.
public struct NotifyOptions: Sendable, Hashable {
    public var notify: Bool
    public var notifyExt: String?

    public init(notify: Bool = true, notifyExt: String? = nil) {
        self.notify = notify
        self.notifyExt = notifyExt
    }
}

/// A message to recall, with the facts that only history and configuration know.
public struct RecallTarget: Sendable, Hashable {
    public var seq: UInt64
    /// Absent: the system.
    public var sender: UserID?
    /// When it was accepted: its sender may recall it for a while only.
    public var time: Timestamp
    /// A notification cannot be recalled.
    public var type: MessageType

    /// UTC day of the message, which names the history file that holds it.
    public var day: Int64 { time.day }

    public init(seq: UInt64, sender: UserID?, time: Timestamp, type: MessageType) {
        self.seq = seq
        self.sender = sender
        self.time = time
        self.type = type
    }
}

/// The fixed role that a command asks for.
public enum FixedRole: String, Sendable, Hashable, CaseIterable {
    case manager = "MANAGER"
    case normal = "NORMAL"
    case guest = "GUEST"
}

/// A key of `queueSetMany` and the value it is to get.
public struct QueuePair: Sendable, Hashable {
    public var key: String
    public var value: String

    public init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}

/// An element as `queueSet` is to write it (PROTOCOL.md, "Queue").
public struct QueueWrite: Sendable, Hashable {
    public var key: String
    public var value: String
    /// The owner that it is to have; nil: the writer. Only managers among members may name one.
    public var owner: UserID?
    /// An overwritten element keeps its owner. Only managers among members may ask for it.
    public var keepOwner = false
    public var transient = false
    /// nil leaves the lock as it is, and a new element unlocked. Only managers among members may say it.
    public var locked: Bool?
    /// 409 unless the element has that version; 0: unless there is none.
    public var ifVersion: Int64?

    public init(
        key: String, value: String, owner: UserID? = nil, transient: Bool = false, ifVersion: Int64? = nil
    ) {
        self.key = key
        self.value = value
        self.owner = owner
        self.transient = transient
        self.ifVersion = ifVersion
    }
}

/// A member that exists on the server only (PROTOCOL.md, "Robots"): it has no session.
public struct Robot: Sendable, Hashable {
    public var user: UserID
    public var profile: Profile

    public init(user: UserID, profile: Profile = Profile()) {
        self.user = user
        self.profile = profile
    }
}

/// An element as somebody saw it.
public struct QueueElementVersion: Sendable, Hashable {
    public var key: String
    public var version: Int64
    /// Versions begin at 1 again when a key is taken and set anew, so the owner belongs to what somebody saw.
    public var owner: UserID

    public init(key: String, version: Int64, owner: UserID) {
        self.key = key
        self.version = version
        self.owner = owner
    }

    public init(_ element: QueueElement) {
        self.init(key: element.key, version: element.version, owner: element.owner)
    }
}

/// A durable change of one room: what the log holds. All but messages stand elsewhere, so that those are small to copy.
public enum CommandBody: Sendable, Hashable {
    indirect case createRoom(creator: UserID, set: RoomChanges)
    indirect case updateRoom(set: RoomChanges, NotifyOptions)
    indirect case closeRoom(NotifyOptions)
    case reopenRoom
    /// With `CommandFacts.keepDeletedSeconds` the room can be restored for that long.
    case deleteRoom
    /// A deleted room that can be restored exists again, closed.
    case undeleteRoom
    /// Deletes a room for good, also one that was deleted and could be had back.
    case purgeRoom
    /// The actor is the sender shown; `.system` is no sender.
    indirect case post(MessageDraft)
    /// Messages of before, with their times. `after` is a fact: the newest message that the room has.
    indirect case importMessages([ImportedMessage], after: NewestMessage?)
    indirect case recall([RecallTarget], NotifyOptions)
    /// Pins a message or takes its pin away; `CommandFacts.original` says what it is.
    indirect case pin(messageID: String, enable: Bool, NotifyOptions)
    /// Changes a kept message; `CommandFacts.amended` says what it is until then.
    indirect case amend(messageID: String, set: MessageChanges)
    /// A member reports a message; `CommandFacts.original` says what it is.
    indirect case report(messageID: String, reason: String?)
    /// Lets a held message through, or denies it.
    indirect case decideHeld(heldID: String, HeldDecision)
    /// Its sender or a manager takes a held message back.
    indirect case withdrawHeld(heldID: String)
    /// The taps of a window.
    indirect case tap(TapBatch)
    indirect case tally(key: String, TallyChange)
    /// `CommandFacts.pollKey` is drawn for it.
    indirect case openPoll(id: String, PollDraft, NotifyOptions)
    /// The place of the option among the poll's.
    case vote(poll: String, option: Int64)
    indirect case closePoll(id: String, NotifyOptions)
    indirect case setManager(UserID, enable: Bool, NotifyOptions)
    indirect case setMember(UserID, enable: Bool, NotifyOptions)
    /// PUT …/role of the server API.
    indirect case setRole(UserID, FixedRole, NotifyOptions)
    indirect case setBlacklist(UserID, enable: Bool, NotifyOptions)
    indirect case setMute(UserID, enable: Bool, NotifyOptions)
    indirect case tempMute(UserID, seconds: Int64, NotifyOptions)
    indirect case muteRoom(enable: Bool, NotifyOptions)
    /// `banSeconds`: 0 lifts a ban, nil leaves it as it is.
    indirect case kick(UserID, banSeconds: Int64?, NotifyOptions)
    /// `save`: a fixed member's profile outlives the stay.
    indirect case updateMe(ProfileChanges, save: Bool, NotifyOptions)
    indirect case queueSet(QueueWrite, NotifyOptions)
    indirect case queueSetMany([QueuePair], NotifyOptions)
    indirect case queueTake(key: String?, NotifyOptions)
    indirect case queueClear(NotifyOptions)
    /// Robots enter; those who are here already get the profile given. Answers who was here already.
    indirect case addRobots([Robot])
    /// Robots leave. Answers those who were none.
    indirect case removeRobots([UserID])
    /// The leader found that owners of transient elements have gone; ignored where the version has changed.
    indirect case queueRemove([QueueElementVersion])
    /// Somebody has come into a room that closes when it is idle (nil), or everybody has left it since then. The
    /// leader's knowledge.
    indirect case occupancy(emptySince: Timestamp?)
    /// A deadline of the room has passed at the entry's time: temporary mutes, bans, idle close. `apply` ends what is
    /// due.
    case expire
    /// A place for content (PROTOCOL.md, "Media").
    indirect case registerUpload(UploadDraft)
    /// The bytes of a piece of content are stored where they have to be. The node that has taken them says so.
    indirect case completeUpload(mediaID: String, digest: String, isInline: Bool)
    /// Content goes, whatever names it. The server API's.
    indirect case removeUpload(mediaID: String)
    /// The app's webhook has got that far; `apply` forgets what it was owed until there.
    indirect case webhookDelivered(WebhookProgress)
}

public struct Command: Sendable, Hashable {
    public var id: CommandID?
    public var room: RoomID
    public var actor: Actor
    /// The limits in force at the leader when it proposed, so that every replica decides alike.
    public var facts: CommandFacts
    public var body: CommandBody
}

extension Command {
    /// In an extension, so that it may begin with all properties at once: a large value that is filled in one by one is copied
    /// when it is returned.
    public init(id: CommandID?, room: RoomID, actor: Actor, body: CommandBody, facts: CommandFacts = CommandFacts()) {
        self.init(id: id, room: room, actor: actor, facts: facts, body: body)
    }
}

/// Settings and soft facts that `apply` reads: decided once, by the leader, before proposing.
public struct CommandFacts: Sendable, Hashable {
    public var fixedMembersMax: Int
    public var blacklistedMax: Int
    public var managersMax: Int
    public var queueElementsMax: Int
    public var recallWindowSeconds: Int64
    /// HIGH messages a second and room; further ones count as NORMAL (PROTOCOL.md, "Priority").
    public var highPerSecondMax: Int
    public var robotsMax: Int
    /// Whether the app has a webhook, to which what happens is owed.
    public var webhook = false
    private var rare: RareFacts?

    public init(policy: RoomPolicy = RoomPolicy(), names: [UserID: Profile] = [:]) {
        fixedMembersMax = policy.fixedMembersMax
        blacklistedMax = policy.blacklistedMax
        managersMax = policy.managersMax
        queueElementsMax = policy.queueElementsMax
        robotsMax = policy.robotsMax
        recallWindowSeconds = policy.recallWindowSeconds
        highPerSecondMax = policy.highPerSecondMax
        if !names.isEmpty { self.names = names }
    }

    /// Whether it has any of the facts below: few commands have, and asking for each costs more.
    public var hasRareParts: Bool { rare != nil }

    /// Nicks and avatars of the users that the command names and who are here.
    public var names: [UserID: Profile] {
        get { rare?.fields.names ?? [:] }
        set { if rare != nil || !newValue.isEmpty { change { $0.names = newValue } } }
    }
    /// The messages that go with whoever is blacklisted.
    public var recalled: [RecallTarget] {
        get { rare?.fields.recalled ?? [] }
        set { if rare != nil || !newValue.isEmpty { change { $0.recalled = newValue } } }
    }
    /// To how many of those named in `to` a directed message goes.
    public var delivered: Int64? {
        get { rare?.fields.delivered }
        set { if rare != nil || newValue != nil { change { $0.delivered = newValue } } }
    }
    /// The messages that a COMBINE names, to be kept with it.
    public var copies: [Message] {
        get { rare?.fields.copies ?? [] }
        set { if rare != nil || !newValue.isEmpty { change { $0.copies = newValue } } }
    }
    /// The message that a `pin` or a `report` names or a post answers.
    public var original: OriginalMessage? {
        get { rare?.fields.original }
        set { if rare != nil || newValue != nil { change { $0.original = newValue } } }
    }
    /// The message that an `amend` names, as it is until then.
    public var amended: Message? {
        get { rare?.fields.amended }
        set { if rare != nil || newValue != nil { change { $0.amended = newValue } } }
    }
    /// Messages of before have expired; of a `pin`, of a `report`, and of whatever lets a message come that may name content.
    public var keptSince: Timestamp? {
        get { rare?.fields.keptSince }
        set { if rare != nil || newValue != nil { change { $0.keptSince = newValue } } }
    }
    /// A post is to wait for a manager.
    public var hold: HoldPolicy? {
        get { rare?.fields.hold }
        set { if rare != nil || newValue != nil { change { $0.hold = newValue } } }
    }
    /// A held message that the webhook is owed has a row of its own.
    public var owesByRow: Bool {
        get { rare?.fields.owesByRow ?? false }
        set { if rare != nil || newValue { change { $0.owesByRow = newValue } } }
    }
    /// The webhook is still owed the messages of a room that is deleted: its history has them.
    public var owesPast: Bool {
        get { rare?.fields.owesPast ?? false }
        set { if rare != nil || newValue { change { $0.owesPast = newValue } } }
    }
    /// The ID of the place that a `registerUpload` asks for: `apply` knows no random numbers.
    public var mediaID: String? {
        get { rare?.fields.mediaID }
        set { if rare != nil || newValue != nil { change { $0.mediaID = newValue } } }
    }
    /// Content of other rooms that a COMBINE copies: the store has it for this room, too.
    public var sharedUploads: [SharedUpload] {
        get { rare?.fields.sharedUploads ?? [] }
        set { if rare != nil || !newValue.isEmpty { change { $0.sharedUploads = newValue } } }
    }
    /// The address hash of the blacklisted user, if that is an anonymous member who is here.
    public var addressHash: UInt64? {
        get { rare?.fields.addressHash }
        set { if rare != nil || newValue != nil { change { $0.addressHash = newValue } } }
    }
    /// For how long that address stays out; 0: not at all.
    public var addressBarSeconds: Int64 {
        get { rare?.fields.addressBarSeconds ?? 0 }
        set { if rare != nil || newValue != 0 { change { $0.addressBarSeconds = newValue } } }
    }
    /// The key of the poll that an `openPoll` opens.
    public var pollKey: PollKey? {
        get { rare?.fields.pollKey }
        set { if rare != nil || newValue != nil { change { $0.pollKey = newValue } } }
    }
    /// For how long a room that `deleteRoom` deletes can be restored; 0: it can't.
    public var keepDeletedSeconds: Int64 {
        get { rare?.fields.keepDeletedSeconds ?? 0 }
        set { if rare != nil || newValue != 0 { change { $0.keepDeletedSeconds = newValue } } }
    }

    /// A room that is deleted and can be restored tells in its history which transient elements have gone.
    public var tellsGoneElements: Bool {
        get { rare?.fields.tellsGoneElements ?? false }
        set { if rare != nil || newValue { change { $0.tellsGoneElements = newValue } } }
    }

    /// Held messages go by their sender: one that the app server has sent for a user is that user's, and one that is allowed has
    /// the rights that its sender has then.
    public var heldBySender: Bool {
        get { rare?.fields.heldBySender ?? false }
        set { if rare != nil || newValue { change { $0.heldBySender = newValue } } }
    }

    /// All of these facts at once. Each change makes them anew: to change or to visit several, take this first.
    public var rareParts: RareCommandFacts {
        get { rare?.fields ?? RareCommandFacts() }
        set { rare = newValue == RareCommandFacts() ? nil : RareFacts(newValue) }
    }

    private mutating func change(_ body: (inout RareCommandFacts) -> Void) {
        var fields = rareParts
        body(&fields)
        rareParts = fields
    }
}

/// The facts of ``CommandFacts`` that few commands need. Their meaning stands there.
public struct RareCommandFacts: Sendable, Hashable {
    public var names: [UserID: Profile] = [:]
    public var recalled: [RecallTarget] = []
    public var delivered: Int64?
    public var copies: [Message] = []
    public var original: OriginalMessage?
    public var amended: Message?
    public var keptSince: Timestamp?
    public var hold: HoldPolicy?
    public var owesByRow = false
    public var owesPast = false
    public var mediaID: String?
    public var sharedUploads: [SharedUpload] = []
    public var addressHash: UInt64?
    public var addressBarSeconds: Int64 = 0
    public var pollKey: PollKey?
    public var keepDeletedSeconds: Int64 = 0
    public var tellsGoneElements = false
    public var heldBySender = false

    public init() {}
}

/// One reference, so that a command is small wherever it is copied.
private final class RareFacts: Sendable, Hashable {
    let fields: RareCommandFacts

    init(_ fields: RareCommandFacts) { self.fields = fields }

    static func == (one: RareFacts, other: RareFacts) -> Bool { one === other || one.fields == other.fields }

    func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

/// Where and when a command was committed: the leader's stamp, never before the last one of its shard.
public struct Stamp: Sendable, Hashable {
    public var index: UInt64
    public var time: Timestamp

    public init(index: UInt64, time: Timestamp) {
        self.index = index
        self.time = time
    }
}
