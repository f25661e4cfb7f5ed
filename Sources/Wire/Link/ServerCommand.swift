import ChatModel

/// A durable command that the server API gives, on its way to the room's leader.
public struct ServerCommand: WireMessage, Hashable {
    public var body: CommandBody
    public var actor: Actor
    public var id: CommandID?
    /// The profile that the actor is to show; nil or empty: what the stay or the saved profile says.
    public var profile: Profile?
    /// Whether words and hook are asked about what it shows.
    public var moderate: Bool

    public static var blank: ServerCommand { ServerCommand(.expire, actor: .system) }

    public init(
        _ body: CommandBody, actor: Actor, id: CommandID? = nil, profile: Profile? = nil, moderate: Bool = false
    ) {
        self.body = body
        self.actor = actor
        self.id = id
        self.profile = profile
        self.moderate = moderate
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(2, "id", &id)
        try walker.required(4, "actor", &actor)
        try body.walk(&walker)
        try walker.optional(9, "profile", &profile)
        try walker.shown(10, "moderate", &moderate)
    }
}

/// A recall that the server API asks for, on its way to the room's leader, who knows what there is to recall.
public struct ServerRecall: WireMessage, Hashable {
    public var actor: Actor
    public var id: CommandID?
    /// One message; or
    public var messageID: String?
    /// all of a user's,
    public var user: UserID?
    /// of then and later; nil: as far as history goes.
    public var since: Timestamp?
    public var options: NotifyOptions

    public static var blank: ServerRecall { ServerRecall(actor: .system, id: nil, options: NotifyOptions()) }

    public init(actor: Actor, id: CommandID?, options: NotifyOptions) {
        self.actor = actor
        self.id = id
        self.options = options
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "id", &id)
        try walker.required(2, "actor", &actor)
        try walker.optional(3, "messageId", &messageID)
        try walker.optional(4, "user", &user)
        try walker.optional(5, "since", &since)
        try options.walk(&walker)
        if W.isDecoding, (messageID == nil) == (user == nil) { throw .missing("messageId") }
    }
}
