import ChatModel

extension WordAction: WireEnum {
    public static var blank: WordAction { .replace }
    public var number: Int {
        switch self {
        case .replace: 1
        case .refuse: 2
        case .hold: 3
        }
    }
}

extension HookFailurePolicy: WireEnum {
    public static var blank: HookFailurePolicy { .allow }
    public var number: Int {
        switch self {
        case .allow: 1
        case .refuse: 2
        case .hold: 3
        }
    }
}

extension HoldExpiry: WireEnum {
    public static var blank: HoldExpiry { .deny }
    public var number: Int {
        switch self {
        case .deny: 1
        case .allow: 2
        }
    }
}

extension HookAction: WireEnum {
    public static var blank: HookAction { .allow }
    public var number: Int {
        switch self {
        case .allow: 1
        case .rewrite: 2
        case .refuse: 3
        case .hold: 4
        }
    }
}

extension Word: WireMessage {
    public static var blank: Word { Word("", .replace) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "text", &text)
        try walker.required(2, "action", &action)
    }
}

/// The pre-send hook.
public struct HookSettings: WireMessage, Hashable {
    public var url: String
    /// Absent in PUT: the one that is set stays. Never shown.
    public var secret: String?
    /// For one call, from the look-up of the name to the end of the answer.
    public var timeoutMs: Int64 = 300
    public var onFailure = HookFailurePolicy.allow

    public static var blank: HookSettings { HookSettings(url: "") }

    public init(url: String) { self.url = url }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "url", &url, .nonEmptyBytes(Limits.urlBytes))
        try walker.optional(2, "secret", &secret, .nonEmptyBytes(WebhookSettings.secretBytesMax))
        try walker.defaulted(3, "timeoutMs", &timeoutMs, default: 300, .integers(10, 10_000))
        try walker.defaulted(4, "onFailure", &onFailure, default: .allow)
    }
}

/// The settings of moderation: body of PUT /v1/moderation. It replaces what was set.
public struct ModerationSettings: WireMessage, Hashable {
    public var words: [Word] = []
    /// nil: no hook.
    public var hook: HookSettings?
    /// How held messages end.
    public var hold = HoldPolicy()

    public static var blank: ModerationSettings { ModerationSettings() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "words", &words)
        try walker.optional(2, "hook", &hook)
        try walker.defaulted(
            3, "holdSeconds", &hold.seconds, default: Limits.holdSecondsDefault, .integers(1, Limits.holdSeconds))
        try walker.defaulted(4, "onExpiry", &hold.onExpiry, default: .deny)
    }

    /// Whether it says anything that programs without held messages do not understand.
    public var needsHeld: Bool {
        words.contains { $0.action == .hold } || hook?.onFailure == .hold || hold != HoldPolicy()
    }
}

/// `ModerationSettings` as the system group keeps them, where a word takes little more than its bytes.
public struct StoredModeration: WireMessage, Hashable {
    public var settings: ModerationSettings

    public static var blank: StoredModeration { StoredModeration(ModerationSettings()) }

    public init(_ settings: ModerationSettings) { self.settings = settings }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var replaced = settings.words.filter { $0.action == .replace }.map(\.text)
        var refused = settings.words.filter { $0.action == .refuse }.map(\.text)
        var held = settings.words.filter { $0.action == .hold }.map(\.text)
        try walker.repeated(1, "replaced", &replaced)
        try walker.repeated(2, "refused", &refused)
        try walker.optional(3, "hook", &settings.hook)
        try walker.repeated(4, "held", &held)
        try walker.defaulted(5, "holdSeconds", &settings.hold.seconds, default: Limits.holdSecondsDefault)
        try walker.defaulted(6, "onExpiry", &settings.hold.onExpiry, default: .deny)
        if W.isDecoding {
            settings.words =
                replaced.map { Word($0, .replace) } + refused.map { Word($0, .refuse) } + held.map { Word($0, .hold) }
        }
    }
}

/// What the pre-send hook is asked: may this message be sent?
public struct HookQuestion: WireMessage, Hashable {
    public var room: RoomID
    public var time: Timestamp
    /// Absent: the server API without a sender.
    public var from: Sender?
    public var clientID: String?
    /// Type, body, mentions, `ext` and so on, as in `send`, after the words.
    public var message: MessageDraft
    /// The message that is to become this one, if it is an amendment.
    public var messageID: String?

    public static var blank: HookQuestion { HookQuestion(room: .blank, time: .blank, message: .blank) }

    public init(room: RoomID, time: Timestamp, message: MessageDraft) {
        self.room = room
        self.time = time
        self.message = message
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "time", &time)
        try walker.optional(3, "from", &from)
        try walker.optional(4, "clientId", &clientID)
        try walker.required(5, "message", &message)
        try walker.optional(6, "messageId", &messageID)
    }
}

/// The answer of the pre-send hook.
public struct HookReply: WireMessage, Hashable {
    public var action: HookAction
    /// Only with REWRITE.
    public var text: String?

    public static var blank: HookReply { HookReply(action: .allow) }

    public init(action: HookAction) { self.action = action }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "action", &action)
        try walker.optional(2, "text", &text)
        if W.isDecoding, action == .rewrite, text == nil { throw .missing("text") }
    }
}
