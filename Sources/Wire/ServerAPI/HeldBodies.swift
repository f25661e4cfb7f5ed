import ChatModel

/// Body of POST …/held/{heldId}/deny.
public struct DenyBody: WireMessage, Hashable {
    /// Why, for the sender.
    public var reason: String?

    public static var blank: DenyBody { DenyBody() }

    public init(reason: String? = nil) { self.reason = reason }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "reason", &reason, .bytes(Limits.heldReasonBytes))
    }
}
