import ChatModel

extension Message: WireMessage {
    public static var blank: Message {
        Message(room: nil, place: .outside, messageID: "", time: .blank, from: nil, body: .text(""))
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var fields = fields
        try fields.walk(&walker)
        if W.isDecoding { self.fields = fields }
    }
}

extension MessageFields {
    static let replyNumber = 57
    static let editedAtNumber = 58

    /// Visits what everybody may see of a message.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "room", &room)
        try place.walk(&walker, seq: 2, after: 3)
        try walker.required(4, "messageId", &messageID)
        try walker.optional(5, "clientId", &clientID)
        try walker.required(6, "time", &time)
        try walker.optional(7, "from", &from)
        try Self.walk(&body, isRecalled: isRecalled, &walker)
        // Most messages have nothing else.
        if W.isDecoding, !walker.mayHaveMore { return }
        try walker.defaulted(50, "priority", &priority, default: .normal)
        guard W.isDecoding || W.describesSchema || hasRareParts else {
            return try walker.defaulted(52, "mentionAll", &mentionAll, default: false)
        }
        // A copy of each, since to set one makes all of them anew.
        var rare = (mentions: mentions, to: to, ext: ext, replyTo: replyTo, editedAt: editedAt)
        try walker.repeated(51, "mentions", &rare.mentions)
        try walker.defaulted(52, "mentionAll", &mentionAll, default: false)
        try walker.repeated(53, "to", &rare.to)
        try walker.optional(54, "ext", &rare.ext)
        try walker.optional(Self.replyNumber, "replyTo", &rare.replyTo)
        try walker.optional(Self.editedAtNumber, "editedAt", &rare.editedAt)
        if W.isDecoding { (mentions, to, ext, replyTo, editedAt) = rare }
    }
}

extension MessageFields {
    /// Visits the type and what depends on it.
    static func walk<W: FieldWalker>(_ body: inout MessageBody, isRecalled: Bool, _ walker: inout W) throws(ChatError) {
        var type = OpenType(body)
        var recalled = isRecalled
        try walker.required(8, "type", &type)
        try walker.defaulted(9, "recalled", &recalled, default: false)
        if recalled {
            if W.isDecoding { body = .recalled(type.known ?? .unknown) }
        } else if let known = type.known {
            try body.walk(type: known, &walker)
        } else if W.isDecoding {
            body = .unknown(type.name)
        }
    }
}

extension MessageChanges: WireMessage {
    public static var blank: MessageChanges { MessageChanges() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "text", &text, .bytes(Limits.textBytes))
        try walker.optional(2, "content", &content, .bytes(Limits.textBytes))
        try walker.optional(3, "ext", &ext, .bytes(Limits.extBytes))
        if W.isDecoding, walker.enforcesLimits, isEmpty {
            throw ChatError(.badParameter, "must have one of text, content and ext")
        }
    }
}

extension MessagePlace {
    /// Visits `seq` or `after`; neither is outside of rooms.
    mutating func walk<W: FieldWalker>(_ walker: inout W, seq: Int, after: Int) throws(ChatError) {
        var (kept, unkept): (UInt64?, UInt64?)
        switch self {
        case .kept(let seq): kept = seq
        case .unkept(let after): unkept = after
        case .outside: break
        }
        try walker.optional(seq, "seq", &kept)
        try walker.optional(after, "after", &unkept)
        guard W.isDecoding else { return }
        if let kept {
            self = .kept(seq: kept)
        } else if let unkept {
            self = .unkept(after: unkept)
        } else {
            self = .outside
        }
    }
}

extension Sender: WireMessage {
    public static var blank: Sender { Sender(user: .blank, profile: Profile(), role: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &profile.nick)
        try walker.shown(3, "avatar", &profile.avatar)
        try walker.shown(4, "ext", &profile.ext)
        try walker.shown(5, "role", &role)
    }
}

extension MessageDraft: WireMessage {
    public static var blank: MessageDraft { MessageDraft(body: .text("")) }

    /// The fields of `send` beside the room: types and limits of PROTOCOL.md, "Message". A body field of another
    /// type is ignored. NOTIFICATION is the room's own: 414 from outside.
    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var type = body.type
        try walker.required(8, "type", &type)
        if W.isDecoding, walker.enforcesLimits, type == .notification {
            throw ChatError(.badParameter, "type NOTIFICATION is for the room only", field: "type")
        }
        try body.walk(type: type, &walker)
        // Most drafts have nothing else.
        if W.isDecoding, !walker.mayHaveMore { return }
        try walker.defaulted(50, "priority", &priority, default: .normal)
        try walker.repeated(51, "mentions", &mentions, itemsMax: Limits.mentionedUsers)
        try walker.defaulted(52, "mentionAll", &mentionAll, default: false)
        let namesUsers = try walker.repeated(
            53, "to", &to, always: false, itemsMax: Limits.directedUsers, .none)
        if W.isDecoding, walker.enforcesLimits, namesUsers, to.isEmpty {
            // An app that has filtered the recipients down to nobody does not want everybody.
            throw ChatError(.badParameter, "to names nobody; leave it out for everybody", field: "to")
        }
        try walker.optional(54, "ext", &ext, .bytes(Limits.extBytes))
        try walker.defaulted(55, "history", &keep, default: true)
        try walker.defaulted(56, "webhook", &webhook, default: true)
        try walker.optional(57, "replyTo", &replyTo, .nonEmptyBytes(Limits.opaqueIDBytes))
    }
}

/// The sender of a barrage: a sender without `ext`.
struct BarrageSender: WireMessage {
    var sender: Sender

    static var blank: BarrageSender { BarrageSender(sender: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &sender.user)
        try walker.shown(2, "nick", &sender.profile.nick)
        try walker.shown(3, "avatar", &sender.profile.avatar)
        try walker.shown(5, "role", &sender.role)
    }
}

extension BarrageItem: WireMessage {
    public static var blank: BarrageItem { BarrageItem(from: nil, text: "", time: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var sender = from.map(BarrageSender.init)
        try walker.optional(1, "from", &sender)
        if W.isDecoding { from = sender?.sender }
        try walker.required(2, "text", &text)
        try walker.required(3, "time", &time)
        try walker.optional(4, "ext", &ext)
        try walker.optional(5, "style", &style)
        try walker.defaulted(6, "priority", &priority, default: .normal)
        try walker.defaulted(7, "count", &count, default: 1)
    }
}
