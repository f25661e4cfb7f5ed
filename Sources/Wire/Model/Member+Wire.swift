import ChatModel

extension Member: WireMessage {
    public static var blank: Member { Member(user: .blank, profile: Profile(), role: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &profile.nick)
        try walker.shown(3, "avatar", &profile.avatar)
        try walker.shown(4, "ext", &profile.ext)
        try walker.shown(5, "role", &role)
        try walker.shown(6, "muted", &muted)
        try walker.shown(7, "tempMuted", &tempMuted)
        try walker.shown(8, "tempMuteSeconds", &tempMuteSeconds)
        try walker.shown(9, "blacklisted", &blacklisted)
        try walker.shown(10, "online", &online)
        try walker.optional(11, "enteredAt", &enteredAt)
        try walker.optional(12, "banEndsAt", &banEndsAt)
    }
}

extension UserName: WireMessage {
    public static var blank: UserName { UserName(user: .blank, nick: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &nick, .bytes(Limits.nickBytes))
    }
}

extension DigestMember: WireMessage {
    public static var blank: DigestMember { DigestMember(user: .blank, profile: Profile(), notifyExt: nil) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &profile.nick)
        try walker.shown(3, "avatar", &profile.avatar)
        try walker.shown(4, "ext", &profile.ext)
        try walker.optional(5, "notifyExt", &notifyExt)
    }
}

/// A profile as the log and the catalogue keep it.
extension Profile: WireMessage {
    public static var blank: Profile { Profile() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(2, "nick", &nick)
        try walker.shown(3, "avatar", &avatar)
        try walker.shown(4, "ext", &ext)
    }
}

extension ProfileChanges: WireMessage {
    public static var blank: ProfileChanges { ProfileChanges() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(2, "nick", &nick, .bytes(Limits.nickBytes))
        try walker.optional(3, "avatar", &avatar, .bytes(Limits.urlBytes))
        try walker.optional(4, "ext", &ext, .bytes(Limits.extBytes))
    }
}

extension QueueElement: WireMessage {
    public static var blank: QueueElement { QueueElement(key: "", value: "", owner: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "key", &key)
        try walker.required(2, "value", &value)
        try walker.required(3, "owner", &owner)
        try walker.shown(4, "transient", &transient)
        try walker.shown(5, "version", &version)
        try walker.defaulted(6, "held", &held, default: false)
        try walker.defaulted(7, "locked", &locked, default: false)
    }
}

extension QueuePair: WireMessage {
    public static var blank: QueuePair { QueuePair(key: "", value: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "key", &key)
        try walker.required(2, "value", &value)
    }
}
