/// The parts that few drafts have: one reference, so that a draft of text is small wherever it is copied.
private final class RareDraftParts: Sendable, Hashable {
    let mentions: [UserID]
    let to: [UserID]
    let ext: String?
    let replyTo: String?

    /// nil when there is none of them.
    init?(mentions: [UserID], to: [UserID], ext: String?, replyTo: String?) {
        guard !mentions.isEmpty || !to.isEmpty || ext != nil || replyTo != nil else { return nil }
        (self.mentions, self.to, self.ext, self.replyTo) = (mentions, to, ext, replyTo)
    }

    static func == (one: RareDraftParts, other: RareDraftParts) -> Bool {
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
    private var rare: RareDraftParts?
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

    /// Whether it has any of `mentions`, `to`, `ext` and `replyTo`: few have, and asking for each costs more.
    var hasRareParts: Bool { rare != nil }

    private mutating func setRare(_ mentions: [UserID], _ to: [UserID], _ ext: String?, _ replyTo: String?) {
        rare = RareDraftParts(mentions: mentions, to: to, ext: ext, replyTo: replyTo)
    }

    /// Whether the message gets a seq and a row in history (PROTOCOL.md, "Unkept").
    public var isKept: Bool { keep && to.isEmpty && body.type != .command }
}
