import ChatModel

/// Body of POST /v1/rooms/{room}/import.
public struct ImportBody: WireMessage, Hashable {
    public var messages: [ImportedMessage]

    public static var blank: ImportBody { ImportBody(messages: []) }

    public init(messages: [ImportedMessage]) { self.messages = messages }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "messages", &messages, itemsMax: Limits.importedMessages)
        if W.isDecoding, walker.enforcesLimits, messages.isEmpty { throw .missing("messages") }
    }
}

/// A Message of history as it was exported; what another room can't have is ignored (PROTOCOL.md, "Import"). The numbers
/// are those of ``MessageFields``.
extension ImportedMessage: WireMessage {
    public static var blank: ImportedMessage { ImportedMessage(time: .blank, from: nil, body: .text("")) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var type = body.type
        var recalled = false
        var sender = from.map(ImportedSender.init)
        try walker.optional(5, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        try walker.required(6, "time", &time, .integers(0, .max))
        try walker.optional(7, "from", &sender)
        try walker.required(8, "type", &type)
        try walker.defaulted(9, "recalled", &recalled, default: false)
        if W.isDecoding, recalled {
            throw ChatError(.badParameter, "a recalled message has nothing to import", field: "recalled")
        }
        try body.walk(type: type, &walker)
        try walker.defaulted(50, "priority", &priority, default: .normal)
        try walker.repeated(51, "mentions", &mentions, itemsMax: Limits.mentionedUsers)
        try walker.defaulted(52, "mentionAll", &mentionAll, default: false)
        try walker.optional(54, "ext", &ext, .bytes(Limits.extBytes))
        guard W.isDecoding else { return }
        from = sender?.sender
        key = from.flatMap { sender in
            clientID.map { commandKey(CommandID(scope: sender.user.text, text: $0)) }
        }
        if walker.enforcesLimits { try becomeImportable() }
    }

    /// Leaves out what only the former room had. Throws 413 and 414 for what no history holds.
    private mutating func becomeImportable() throws(ChatError) {
        switch body {
        case .command, .recalled, .unknown:
            throw ChatError(.badParameter, "\(body.type.rawValue) is never kept", field: "type")
        case .notification(var notification):
            if case .unknown = notification.data {
                throw ChatError(.badParameter, "an event that this version does not know", field: "event")
            }
            // It names a message of the former room. That message comes as it was amended, and could be recalled here
            // without its 360.
            if case .amended(let messageID, let seq, _, let editedAt) = notification.data {
                notification.data = .amended(messageID: messageID, seq: seq, set: MessageChanges(), editedAt: editedAt)
                body = .notification(notification)
            }
            guard WireJSON.encode(self).count <= Limits.importedNotificationBytes else {
                throw ChatError(
                    .tooLarge, "a notification may have \(Limits.importedNotificationBytes) bytes", field: "data")
            }
        case .image(var media), .audio(var media), .video(var media), .file(var media):
            // Content that a cluster stores belongs to its room.
            (media.id, media.thumbnailID) = (nil, nil)
            guard !media.url.isEmpty else { throw .missing("url") }
            body = body.with(media)
        case .text, .tip, .location, .custom, .combine: break
        }
    }
}

/// The sender of an imported message; everything but the user may be absent.
struct ImportedSender: WireMessage {
    var sender: Sender

    static var blank: ImportedSender { ImportedSender(sender: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &sender.user)
        try walker.shown(2, "nick", &sender.profile.nick, .bytes(Limits.nickBytes))
        try walker.shown(3, "avatar", &sender.profile.avatar, .bytes(Limits.urlBytes))
        try walker.shown(4, "ext", &sender.profile.ext, .bytes(Limits.extBytes))
        try walker.defaulted(5, "role", &sender.role, default: .guest)
        if W.isDecoding { sender.role = sender.role.shownToOthers }
    }
}

extension NewestMessage: WireMessage {
    public static var blank: NewestMessage { NewestMessage(seq: 0, time: nil) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "seq", &seq)
        try walker.optional(2, "time", &time)
    }
}

extension ImportResult: WireMessage {
    public static var blank: ImportResult { ImportResult(imported: 0, skipped: 0, seq: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "imported", &imported)
        try walker.shown(2, "skipped", &skipped)
        try walker.shown(3, "seq", &seq)
    }
}
