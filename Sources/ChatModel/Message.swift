/// The types of PROTOCOL.md, "Message". The raw value is the wire's name.
public enum MessageType: String, Sendable, Hashable, CaseIterable {
    /// The types that this version knows.
    public static let allCases: [MessageType] = [
        .text, .tip, .command, .image, .audio, .video, .file, .location, .custom, .combine, .notification,
    ]

    case text = "TEXT"
    case tip = "TIP"
    case command = "COMMAND"
    case image = "IMAGE"
    case audio = "AUDIO"
    case video = "VIDEO"
    case file = "FILE"
    case location = "LOCATION"
    case custom = "CUSTOM"
    case combine = "COMBINE"
    case notification = "NOTIFICATION"
    /// Read by a client: a type of a later version. Nobody sends it.
    case unknown = ""
}

public enum Priority: String, Sendable, Hashable, CaseIterable {
    case low = "LOW"
    case normal = "NORMAL"
    case high = "HIGH"
}

/// A reference to a picture, sound, film or file: its URL, and what viewers are told of it before they fetch it.
public struct Media: Sendable, Hashable {
    /// The ID of content that this cluster stores; nil for content of elsewhere.
    public var id: String?
    public var url: String
    public var name: String
    /// Bytes.
    public var size: Int64
    public var contentType: String
    public var width: Int64?
    public var height: Int64?
    public var durationSeconds: Double?
    public var thumbnail: String?
    /// The ID of the thumbnail, if this cluster stores it.
    public var thumbnailID: String?
    /// Only for whoever reviews messages: where the content can be read before others may.
    public var reviewURL: String?
    /// The same for the thumbnail, if this cluster stores it.
    public var thumbnailReviewURL: String?

    public init(url: String, name: String, size: Int64, contentType: String) {
        self.url = url
        self.name = name
        self.size = size
        self.contentType = contentType
    }
}

/// The content of a message. One case per shape; the type says which of the media types it is.
///
/// Larger ones stand elsewhere, so that a message of text is small wherever it is copied.
public enum MessageBody: Sendable, Hashable {
    case text(String)
    case tip(String)
    case command(payload: [UInt8])
    indirect case image(Media)
    indirect case audio(Media)
    indirect case video(Media)
    indirect case file(Media)
    indirect case location(latitude: Double, longitude: Double, title: String)
    indirect case custom(content: String, subtype: Int64, searchable: String?)
    indirect case combine(title: String, summary: String, messageIDs: [String])
    indirect case notification(Notification)
    /// A recalled message keeps its place and its type and loses its body.
    case recalled(MessageType)
    /// Read by a client: a body of a later version, by the name of its type (in protobuf, the number). To be shown as
    /// such or ignored.
    case unknown(String)

    /// The media of IMAGE, AUDIO, VIDEO and FILE.
    public var media: Media? {
        switch self {
        case .image(let media), .audio(let media), .video(let media), .file(let media): media
        default: nil
        }
    }

    /// The same message with other media; for a body without any, itself.
    public func with(_ media: Media) -> MessageBody {
        switch self {
        case .image: .image(media)
        case .audio: .audio(media)
        case .video: .video(media)
        case .file: .file(media)
        default: self
        }
    }

    public var type: MessageType {
        switch self {
        case .text: .text
        case .tip: .tip
        case .command: .command
        case .image: .image
        case .audio: .audio
        case .video: .video
        case .file: .file
        case .location: .location
        case .custom: .custom
        case .combine: .combine
        case .notification: .notification
        case .recalled(let type): type
        case .unknown: .unknown
        }
    }
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
    private var rare: Rare?

    public var mentions: [UserID] {
        get { rare?.mentions ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = Rare(newValue, to, ext, replyTo, editedAt) } }
    }
    public var to: [UserID] {
        get { rare?.to ?? [] }
        set { if rare != nil || !newValue.isEmpty { rare = Rare(mentions, newValue, ext, replyTo, editedAt) } }
    }
    public var ext: String? {
        get { rare?.ext }
        set { if rare != nil || newValue != nil { rare = Rare(mentions, to, newValue, replyTo, editedAt) } }
    }
    /// The kept message that it answers.
    public var replyTo: ReplyReference? {
        get { rare?.reply }
        set { if rare != nil || newValue != nil { rare = Rare(mentions, to, ext, newValue, editedAt) } }
    }
    /// When it was amended last.
    public var editedAt: Timestamp? {
        get { rare?.editedAt }
        set { if rare != nil || newValue != nil { rare = Rare(mentions, to, ext, replyTo, newValue) } }
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
private final class Rare: Sendable, Hashable {
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

    static func == (one: Rare, other: Rare) -> Bool {
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
            rare: draft.rare == nil && replyTo == nil ? nil : Rare(draft.mentions, draft.to, draft.ext, replyTo, nil))
    }
}

/// The parts that few drafts have: one reference, so that a draft of text is small wherever it is copied.
fileprivate final class RareParts: Sendable, Hashable {
    let mentions: [UserID]
    let to: [UserID]
    let ext: String?
    let replyTo: String?

    /// nil when there is none of them.
    init?(mentions: [UserID], to: [UserID], ext: String?, replyTo: String?) {
        guard !mentions.isEmpty || !to.isEmpty || ext != nil || replyTo != nil else { return nil }
        (self.mentions, self.to, self.ext, self.replyTo) = (mentions, to, ext, replyTo)
    }

    static func == (one: RareParts, other: RareParts) -> Bool {
        one.mentions == other.mentions && one.to == other.to && one.ext == other.ext && one.replyTo == other.replyTo
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(mentions)
        hasher.combine(to)
        hasher.combine(ext)
        hasher.combine(replyTo)
    }
}

/// The part of a message that its sender decides; the room adds place, ID, time and role.
public struct MessageDraft: Sendable, Hashable {
    public var body: MessageBody
    public var priority = Priority.normal
    fileprivate var rare: RareParts?
    public var mentionAll = false
    public var mentions: [UserID] {
        get { rare?.mentions ?? [] }
        set { if rare != nil || !newValue.isEmpty { setRare(newValue, to, ext, replyTo) } }
    }
    public var to: [UserID] {
        get { rare?.to ?? [] }
        set { if rare != nil || !newValue.isEmpty { setRare(mentions, newValue, ext, replyTo) } }
    }
    public var ext: String? {
        get { rare?.ext }
        set { if rare != nil || newValue != nil { setRare(mentions, to, newValue, replyTo) } }
    }
    /// The ID of the kept message of the same room that it answers.
    public var replyTo: String? {
        get { rare?.replyTo }
        set { if rare != nil || newValue != nil { setRare(mentions, to, ext, newValue) } }
    }
    /// `history`: false asks not to keep it. COMMAND and directed messages are never kept.
    public var keep = true
    /// `webhook`: false keeps it from the app's webhook.
    public var webhook = true

    public init(body: MessageBody) { self.body = body }

    private mutating func setRare(_ mentions: [UserID], _ to: [UserID], _ ext: String?, _ replyTo: String?) {
        rare = RareParts(mentions: mentions, to: to, ext: ext, replyTo: replyTo)
    }

    /// Whether the message gets a seq and a row in history (PROTOCOL.md, "Unkept").
    public var isKept: Bool { keep && to.isEmpty && body.type != .command }
}

/// One item of a `barrage` push.
public struct BarrageItem: Sendable, Hashable {
    public var from: Sender?
    public var text: String
    public var time: Timestamp
    public var ext: String?
    public var style: String?
    public var priority = Priority.normal
    /// How many equal texts of one window this item stands for.
    public var count: Int64 = 1

    public init(from: Sender?, text: String, time: Timestamp) {
        self.from = from
        self.text = text
        self.time = time
    }
}
