import ChatModel

/// Which texts the words are looked for in (PROTOCOL.md, "Moderation": messages, barrage, nick, room name,
/// announcement).
extension WordFilter {
    /// The text as it may be shown. Throws 13009 naming the field and no word; for HOLD words too.
    public func passed(_ text: String, _ field: String) throws(ChatError) -> String {
        var holds = false
        let shown = try passed(text, field, &holds)
        if holds { throw Self.refusal(field) }
        return shown
    }

    public func passed(_ text: String?, _ field: String) throws(ChatError) -> String? {
        guard let text else { return nil }
        return try passed(text, field) as String
    }

    /// The same of a text that can be held.
    /// - Parameter holds: becomes true for a HOLD word.
    private func passed(_ text: String, _ field: String, _ holds: inout Bool) throws(ChatError) -> String {
        switch check(text) {
        case .clean: return text
        case .replaced(let other): return other
        case .held(let other):
            holds = true
            return other
        case .refused: throw Self.refusal(field)
        }
    }

    /// The app's own format: it stays as it is.
    private func check(content: String, _ holds: inout Bool) throws(ChatError) {
        switch check(content) {
        case .clean, .replaced: break
        case .held: holds = true
        case .refused: throw Self.refusal("content")
        }
    }

    private static func refusal(_ field: String) -> ChatError {
        ChatError(.rejected, "the \(field) was refused by moderation", field: field)
    }

    /// The texts of a message that people read: text, title, summary, the name of a file, the searchable part of a
    /// CUSTOM message.
    ///
    /// `content` of CUSTOM is the app's own format, and `*` inside it could break it: REFUSE and HOLD words count there,
    /// REPLACE words do not. A COMMAND is not shown; `ext` and URLs are the app's.
    /// - Parameter holds: becomes true where a HOLD word is in one of them.
    public func passed(_ body: MessageBody, holds: inout Bool) throws(ChatError) -> MessageBody {
        guard !isEmpty else { return body }
        switch body {
        case .text(let text): return .text(try passed(text, "text", &holds))
        case .tip(let text): return .tip(try passed(text, "text", &holds))
        case .image(let media): return .image(try passed(media, &holds))
        case .audio(let media): return .audio(try passed(media, &holds))
        case .video(let media): return .video(try passed(media, &holds))
        case .file(let media): return .file(try passed(media, &holds))
        case .location(let latitude, let longitude, let title):
            return .location(latitude: latitude, longitude: longitude, title: try passed(title, "title", &holds))
        case .custom(let content, let subtype, var searchable):
            try check(content: content, &holds)
            if let text = searchable { searchable = try passed(text, "searchable", &holds) }
            return .custom(content: content, subtype: subtype, searchable: searchable)
        case .combine(let title, let summary, let messageIDs):
            return .combine(
                title: try passed(title, "title", &holds), summary: try passed(summary, "summary", &holds),
                messageIDs: messageIDs)
        case .command, .notification, .recalled, .unknown: return body
        }
    }

    private func passed(_ media: Media, _ holds: inout Bool) throws(ChatError) -> Media {
        var media = media
        media.name = try passed(media.name, "media.name", &holds)
        return media
    }

    /// The name and the announcement of a room.
    public func passed(_ changes: RoomChanges) throws(ChatError) -> RoomChanges {
        guard !isEmpty else { return changes }
        var changes = changes
        changes.name = try passed(changes.name, "name")
        changes.announcement = try passed(changes.announcement, "announcement")
        return changes
    }

    /// The texts that are set in a message, as those of a new one.
    public func passed(_ changes: MessageChanges) throws(ChatError) -> MessageChanges {
        guard !isEmpty else { return changes }
        var changes = changes
        changes.text = try passed(changes.text, "text")
        if let content = changes.content {
            var holds = false
            try check(content: content, &holds)
            if holds { throw Self.refusal("content") }
        }
        return changes
    }

    /// The nick.
    public func passed(_ changes: ProfileChanges) throws(ChatError) -> ProfileChanges {
        guard !isEmpty else { return changes }
        var changes = changes
        changes.nick = try passed(changes.nick, "nick")
        return changes
    }

    /// The texts of a member's command that others see. Only a message can be held.
    /// - Parameter holds: becomes true where a HOLD word is in it.
    public func passed(_ body: CommandBody, holds: inout Bool) throws(ChatError) -> CommandBody {
        guard !isEmpty else { return body }
        switch body {
        case .post(var draft):
            draft.body = try passed(draft.body, holds: &holds)
            return .post(draft)
        case .amend(let messageID, let set): return .amend(messageID: messageID, set: try passed(set))
        // Messages that name the content show it.
        case .registerUpload(var upload):
            upload.name = try passed(upload.name, "name")
            return .registerUpload(upload)
        case .updateRoom(let set, let options): return .updateRoom(set: try passed(set), options)
        case .updateMe(let set, let save, let options): return .updateMe(try passed(set), save: save, options)
        default: return body
        }
    }
}
