import ChatModel

/// Body of POST /v1/rooms/{room}/messages/recall.
public struct RecallAllBody: WireMessage, Hashable {
    /// The sender of the messages.
    public var user: UserID
    /// Only those of then and later; nil: as far as history goes.
    public var since: Timestamp?
    public var options = ServerOptions()

    public static var blank: RecallAllBody { RecallAllBody(user: .blank) }

    public init(user: UserID) { self.user = user }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.optional(2, "since", &since)
        try options.walk(&walker)
    }
}
