public enum Priority: String, Sendable, Hashable, CaseIterable {
    case low = "LOW"
    case normal = "NORMAL"
    case high = "HIGH"
}

/// The sender of a message, as of the moment it was accepted.
public struct Sender: Sendable, Hashable {
    public var user: UserID
    public var profile: Profile
    public var role: Role

    public init(user: UserID, profile: Profile, role: Role) {
        self.user = user
        self.profile = profile
        self.role = role
    }
}

/// Where a message stands in its room's order.
public enum MessagePlace: Sendable, Hashable {
    /// Kept in history, with a seq of its own.
    case kept(seq: UInt64)
    /// Not kept: it follows that seq.
    case unkept(after: UInt64)
    /// `broadcast` and `direct` belong to no room.
    case outside
}

/// One entry of a room's stream, from a person or from the room itself.
///
/// It is one reference to what it says, since it is copied from the room into rows, effects, tails and pushes, and hardly
/// ever changed. To set several fields, make ``MessageFields`` first: each change of a message makes them anew. Its properties
/// are written out, because a look-up by key path costs at run time.
public struct Message: Sendable, Hashable {
    private final class Storage: Sendable {
        let fields: MessageFields

        init(_ fields: consuming MessageFields) { self.fields = fields }
    }

    private var storage: Storage

    public init(_ fields: consuming MessageFields) { storage = Storage(fields) }

    public init(
        room: RoomID?, place: MessagePlace, messageID: String, time: Timestamp, from: Sender?, body: MessageBody
    ) {
        self.init(
            MessageFields(room: room, place: place, messageID: messageID, time: time, from: from, body: body))
    }

    /// All that it says.
    public var fields: MessageFields {
        get { storage.fields }
        set { storage = Storage(newValue) }
    }

    /// Absent for `broadcast` and `direct`.
    public var room: RoomID? {
        get { storage.fields.room }
        set { fields.room = newValue }
    }
    public var place: MessagePlace {
        get { storage.fields.place }
        set { fields.place = newValue }
    }
    public var messageID: String {
        get { storage.fields.messageID }
        set { fields.messageID = newValue }
    }
    public var clientID: String? {
        get { storage.fields.clientID }
        set { fields.clientID = newValue }
    }
    public var time: Timestamp {
        get { storage.fields.time }
        set { fields.time = newValue }
    }
    /// Absent: the system.
    public var from: Sender? {
        get { storage.fields.from }
        set { fields.from = newValue }
    }
    public var body: MessageBody {
        get { storage.fields.body }
        set { fields.body = newValue }
    }
    public var priority: Priority {
        get { storage.fields.priority }
        set { fields.priority = newValue }
    }
    public var mentions: [UserID] {
        get { storage.fields.mentions }
        set { fields.mentions = newValue }
    }
    public var mentionAll: Bool {
        get { storage.fields.mentionAll }
        set { fields.mentionAll = newValue }
    }
    public var to: [UserID] {
        get { storage.fields.to }
        set { fields.to = newValue }
    }
    public var ext: String? {
        get { storage.fields.ext }
        set { fields.ext = newValue }
    }
    /// The kept message that it answers.
    public var replyTo: ReplyReference? {
        get { storage.fields.replyTo }
        set { fields.replyTo = newValue }
    }
    /// When it was amended last.
    public var editedAt: Timestamp? {
        get { storage.fields.editedAt }
        set { fields.editedAt = newValue }
    }
    /// Whether the app's webhook gets it: kept with the message, never shown.
    public var webhook: Bool {
        get { storage.fields.webhook }
        set { fields.webhook = newValue }
    }

    /// Absent: the system.
    public var sender: UserID? { storage.fields.from?.user }
    public var type: MessageType { storage.fields.body.type }
    public var isRecalled: Bool { storage.fields.isRecalled }
    /// Whether it shows something of the message that it answers.
    public var hasExcerpt: Bool { storage.fields.replyTo?.excerpt != nil }
    /// The seq of the message of which it shows content: a reply quotes its original, and a 360 has what it was amended to.
    /// Nil for most. Where that message was recalled, or has expired, nobody is given it (``withoutQuote``).
    public var quotedSeq: UInt64? {
        if hasExcerpt { return storage.fields.replyTo?.seq }
        guard case .notification(let notification) = storage.fields.body,
            case .amended(_, let seq, let set, _) = notification.data, !set.isEmpty
        else { return nil }
        return seq
    }
    /// Without the content of another message.
    public var withoutQuote: Message {
        var fields = storage.fields
        fields.replyTo = fields.replyTo?.withoutExcerpt
        if case .notification(var notification) = fields.body,
            case .amended(let messageID, let seq, _, let editedAt) = notification.data
        {
            notification.data = .amended(messageID: messageID, seq: seq, set: MessageChanges(), editedAt: editedAt)
            fields.body = .notification(notification)
        }
        return Message(fields)
    }

    public var seq: UInt64? { storage.fields.seq }

    public static func == (one: Message, other: Message) -> Bool {
        one.storage === other.storage || one.storage.fields == other.storage.fields
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage.fields) }
}

/// The fields of a ``Message``.
public struct MessageFields: Sendable, Hashable {
    /// Absent for `broadcast` and `direct`.
    public var room: RoomID?
    public var place: MessagePlace
    public var messageID: String
    public var clientID: String?
    public var time: Timestamp
    /// Absent: the system.
    public var from: Sender?
    public var body: MessageBody
    public var priority = Priority.normal
    public var mentionAll = false
    /// Whether the app's webhook gets it: kept with the message, never shown.
    public var webhook = true
    private var rare: RareMessageParts?

    public var mentions: [UserID] {
        get { rare?.mentions ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = RareMessageParts(newValue, to, ext, replyTo, editedAt) } }
    }
    public var to: [UserID] {
        get { rare?.to ?? [] }
        set {
            if rare != nil || !newValue.isEmpty { rare = RareMessageParts(mentions, newValue, ext, replyTo, editedAt) }
        }
    }
    public var ext: String? {
        get { rare?.ext }
        set { if rare != nil || newValue != nil { rare = RareMessageParts(mentions, to, newValue, replyTo, editedAt) } }
    }
    /// The kept message that it answers.
    public var replyTo: ReplyReference? {
        get { rare?.reply }
        set { if rare != nil || newValue != nil { rare = RareMessageParts(mentions, to, ext, newValue, editedAt) } }
    }
    /// When it was amended last.
    public var editedAt: Timestamp? {
        get { rare?.editedAt }
        set { if rare != nil || newValue != nil { rare = RareMessageParts(mentions, to, ext, replyTo, newValue) } }
    }

    /// Whether it has any of `mentions`, `to`, `ext`, `replyTo` and `editedAt`: few have, and asking for each costs more.
    public var hasRareParts: Bool { rare != nil }

    public var isRecalled: Bool {
        if case .recalled = body { true } else { false }
    }

    public var seq: UInt64? {
        if case .kept(let seq) = place { seq } else { nil }
    }
}

/// The parts that few messages have: one reference, so that a message of text is small wherever its fields are copied.
private final class RareMessageParts: Sendable, Hashable {
    let mentions: [UserID]
    let to: [UserID]
    let ext: String?
    let reply: ReplyReference?
    let editedAt: Timestamp?

    /// nil when there is none of them. To be asked for only when there may be: making one costs memory before that is known.
    init?(_ mentions: [UserID], _ to: [UserID], _ ext: String?, _ reply: ReplyReference?, _ editedAt: Timestamp?) {
        guard !mentions.isEmpty || !to.isEmpty || ext != nil || reply != nil || editedAt != nil else { return nil }
        (self.mentions, self.to, self.ext, self.reply, self.editedAt) = (mentions, to, ext, reply, editedAt)
    }

    static func == (one: RareMessageParts, other: RareMessageParts) -> Bool {
        one.mentions == other.mentions && one.to == other.to && one.ext == other.ext && one.reply == other.reply
            && one.editedAt == other.editedAt
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(mentions)
        hasher.combine(to)
        hasher.combine(ext)
        hasher.combine(reply)
        hasher.combine(editedAt)
    }
}

extension MessageFields {
    /// In an extension, so that it may begin with all properties at once: a large value that is filled in one by one is copied
    /// when it is returned.
    public init(
        room: RoomID?, place: MessagePlace, messageID: String, time: Timestamp, from: Sender?, body: MessageBody
    ) {
        self.init(
            room: room, place: place, messageID: messageID, clientID: nil, time: time, from: from, body: body, rare: nil
        )
    }
}

extension MessageFields {
    /// The message that a draft becomes.
    public init(
        room: RoomID?, place: MessagePlace, messageID: String, clientID: String?, time: Timestamp, from: Sender?,
        body: MessageBody, priority: Priority, draft: borrowing MessageDraft, replyTo: ReplyReference?
    ) {
        self.init(
            room: room, place: place, messageID: messageID, clientID: clientID, time: time, from: from, body: body,
            priority: priority, mentionAll: draft.mentionAll, webhook: draft.webhook,
            rare: !draft.hasRareParts && replyTo == nil
                ? nil : RareMessageParts(draft.mentions, draft.to, draft.ext, replyTo, nil))
    }
}
