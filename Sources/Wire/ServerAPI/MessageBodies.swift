import ChatModel

/// The sender that a server call speaks for: {user, [nick, avatar, ext]}, or just the user ID.
public struct ServerSender: WireMessage, Hashable {
    public var user: UserID
    public var profile: Profile

    public static var blank: ServerSender { ServerSender(user: .blank, profile: Profile()) }

    public init(user: UserID, profile: Profile = Profile()) {
        self.user = user
        self.profile = profile
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "nick", &profile.nick, .bytes(Limits.nickBytes))
        try walker.shown(3, "avatar", &profile.avatar, .bytes(Limits.urlBytes))
        try walker.shown(4, "ext", &profile.ext, .bytes(Limits.extBytes))
    }

    public static func readJSON(_ value: JSONValue) throws(ChatError) -> ServerSender {
        if value.isString { return ServerSender(user: try UserID.readJSON(value)) }
        var reader = try value.object()
        var sender = blank
        try sender.walk(&reader)
        return sender
    }
}

/// Body of POST /v1/rooms/{room}/messages, /v1/users/{user}/messages and /v1/broadcast.
public struct ServerSendRequest: WireMessage, Hashable {
    /// nil: the system.
    public var sender: ServerSender?
    public var draft: MessageDraft
    /// Makes repeats harmless, as `Idempotency-Key` does.
    public var clientID: String?
    /// Whether the words and the hook of moderation are asked.
    public var moderate = false

    /// The text by which a repeat is known: users do not choose their `clientId`s together.
    public var callKey: String? {
        clientID.map { id in sender.map { "\($0.user)\n\(id)" } ?? id }
    }

    public static var blank: ServerSendRequest { ServerSendRequest(draft: .blank) }

    public init(draft: MessageDraft) { self.draft = draft }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "sender", &sender)
        try walker.optional(2, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        try draft.walk(&walker)
        try walker.defaulted(60, "moderate", &moderate, default: false)
    }
}

/// Body of POST /v1/rooms/{room}/barrage.
public struct ServerBarrageRequest: WireMessage, Hashable {
    /// nil: the system.
    public var sender: ServerSender?
    public var text: String
    public var priority = Priority.normal
    public var ext: String?
    public var style: String?

    public static var blank: ServerBarrageRequest { ServerBarrageRequest(text: "") }

    public init(text: String) { self.text = text }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "sender", &sender)
        try walker.required(2, "text", &text, .bytes(Limits.barrageTextBytes))
        try walker.defaulted(3, "priority", &priority, default: .normal)
        try walker.optional(4, "ext", &ext, .bytes(Limits.barrageExtBytes))
        try walker.optional(5, "style", &style, .bytes(Limits.barrageStyleBytes))
    }
}

/// Body of POST …/messages/{messageId}/amend.
public struct AmendBody: WireMessage, Hashable {
    public var set: MessageChanges
    /// In whose name; nil is the system.
    public var `operator`: UserName?

    public static var blank: AmendBody { AmendBody(set: .blank) }

    public init(set: MessageChanges) { self.set = set }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "set", &set)
        var named = `operator`.map(OperatorField.init)
        try walker.optional(32, "operator", &named)
        if W.isDecoding { `operator` = named?.name }
    }
}

/// Body of POST /v1/rooms/{room}/messages/recall.
public struct RecallAllRequest: WireMessage, Hashable {
    public var user: UserID
    /// Only messages from then on.
    public var since: Timestamp?
    public var options = ServerOptions()

    public static var blank: RecallAllRequest { RecallAllRequest(user: .blank) }

    public init(user: UserID) { self.user = user }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.optional(2, "since", &since, .integers(0, .max))
        try options.walk(&walker)
    }
}
