import ChatModel

extension ReplyReference: WireMessage {
    public static var blank: ReplyReference { ReplyReference(messageID: "", seq: 0, user: nil, nick: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "messageId", &messageID)
        try walker.shown(2, "seq", &seq)
        try walker.optional(3, "user", &user)
        try walker.shown(4, "nick", &nick)
        try walker.optional(5, "excerpt", &excerpt)
    }
}

/// As everybody sees it, without its time.
extension PinnedMessage: WireMessage {
    public static var blank: PinnedMessage { PinnedMessage(messageID: "", seq: 0, time: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "messageId", &messageID)
        try walker.shown(2, "seq", &seq)
    }
}

/// As the room's row has it.
struct StoredPin: WireMessage {
    var pinned: PinnedMessage

    static var blank: StoredPin { StoredPin(pinned: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try pinned.walk(&walker)
        try walker.shown(3, "time", &pinned.time)
    }
}

/// As the log has it.
extension OriginalMessage: WireMessage {
    public static var blank: OriginalMessage { OriginalMessage(seq: 0, time: .blank, user: nil, nick: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "seq", &seq)
        try walker.shown(2, "time", &time)
        try walker.optional(3, "user", &user)
        try walker.shown(4, "nick", &nick)
        try walker.optional(5, "excerpt", &excerpt)
        try walker.defaulted(6, "recalled", &isRecalled, default: false)
    }
}
