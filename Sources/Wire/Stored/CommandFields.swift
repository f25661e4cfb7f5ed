import ChatModel

/// The parameters of every command but `post`: which ones a command has, its case says.
struct CommandFields: WireMessage {
    var user: UserID?
    var enable: Bool?
    var role: FixedRole?
    var seconds: Int64?
    var room: RoomChanges?
    var profile: ProfileChanges?
    var save: Bool?
    var key: String?
    var value: String?
    var transient: Bool?
    var ifVersion: Int64?
    var keepOwner: Bool?
    var locked: Bool?
    var pairs: [QueuePair] = []
    var elements: [QueueElementVersion] = []
    var targets: [RecallTarget] = []
    var emptySince: Timestamp?
    var robots: [Robot] = []
    var users: [UserID] = []
    var progress: WebhookProgress?
    var messageID: String?
    var message: MessageChanges?
    var decision: HeldDecision?
    var taps: TapBatch?
    var tally: TallyChange?
    var reason: String?
    var upload: UploadDraft?
    var mediaDigest: String?
    var mediaID: String?
    var isInline: Bool?
    var poll: PollDraft?
    var option: Int64?
    var imported: [ImportedMessage] = []
    var newest: NewestMessage?
    var options = NotifyOptions()

    static var blank: CommandFields { CommandFields() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "user", &user)
        try walker.optional(2, "enable", &enable)
        try walker.optional(3, "role", &role)
        try walker.optional(4, "seconds", &seconds)
        try walker.optional(5, "room", &room)
        try walker.optional(6, "profile", &profile)
        try walker.optional(7, "save", &save)
        try walker.optional(8, "key", &key)
        try walker.optional(9, "value", &value)
        try walker.optional(10, "transient", &transient)
        try walker.optional(11, "ifVersion", &ifVersion)
        try walker.repeated(12, "pairs", &pairs)
        try walker.repeated(13, "elements", &elements)
        try walker.repeated(14, "targets", &targets)
        try walker.optional(15, "emptySince", &emptySince)
        try walker.repeated(16, "robots", &robots)
        try walker.repeated(17, "users", &users)
        try walker.optional(18, "keepOwner", &keepOwner)
        try walker.optional(19, "locked", &locked)
        try walker.optional(20, "progress", &progress)
        try walker.optional(21, "messageId", &messageID)
        try walker.optional(22, "message", &message)
        try walker.optional(23, "decision", &decision)
        try walker.optional(24, "taps", &taps)
        try walker.optional(25, "tally", &tally)
        try walker.optional(26, "poll", &poll)
        try walker.optional(27, "option", &option)
        try options.walk(&walker)
        try walker.optional(32, "reason", &reason)
        try walker.optional(36, "upload", &upload)
        try walker.optional(37, "mediaDigest", &mediaDigest)
        try walker.optional(38, "mediaId", &mediaID)
        try walker.optional(39, "isInline", &isInline)
        try walker.repeated(40, "imported", &imported)
        try walker.optional(41, "newest", &newest)
    }

    /// A parameter that the command must have.
    func need<T>(_ value: T?, _ name: StaticString) throws(ChatError) -> T {
        guard let value else { throw .missing(name) }
        return value
    }
}

extension RecallTarget: WireMessage {
    public static var blank: RecallTarget { RecallTarget(seq: 0, sender: nil, time: .blank, type: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "seq", &seq)
        try walker.optional(2, "sender", &sender)
        try walker.required(3, "time", &time)
        try walker.required(4, "type", &type)
    }
}

extension QueueElementVersion: WireMessage {
    public static var blank: QueueElementVersion { QueueElementVersion(key: "", version: 0, owner: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "key", &key)
        try walker.shown(2, "version", &version)
        try walker.required(3, "owner", &owner)
    }
}
