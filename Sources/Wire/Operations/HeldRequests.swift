import ChatModel

/// `held`: a page of the messages that wait for a manager, or the decision about one of them (PROTOCOL.md, "Held messages").
public struct HeldRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    /// The cursor `next` of the page before; for a page.
    public var after: String?
    /// 1 to 100; for a page.
    public var limit = Limits.pageItemsDefault
    /// The message to decide about; nil asks for a page.
    public var heldID: String?
    /// Exactly one of both is true where there is a `heldId`.
    public var allow = false
    public var deny = false
    /// Why it is denied.
    public var reason: String?
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: HeldRequest { HeldRequest(room: .blank) }

    var contentBytes: Int { reason?.utf8.count ?? 0 }

    /// The decision; nil for a page.
    public var decision: (heldID: String, HeldDecision)? {
        heldID.map { ($0, HeldDecision(isAllowed: allow, reason: deny ? reason : nil)) }
    }

    public init(room: RoomID, after: String? = nil, limit: Int64 = Limits.pageItemsDefault) {
        self.room = room
        self.after = after
        self.limit = limit
    }

    public init(room: RoomID, heldID: String, _ decision: HeldDecision, clientID: String? = nil) {
        self.room = room
        self.heldID = heldID
        (allow, deny, reason) = (decision.isAllowed, !decision.isAllowed, decision.reason)
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "after", &after, .bytes(Limits.opaqueIDBytes))
        try walker.defaulted(
            3, "limit", &limit, default: Limits.pageItemsDefault, .integers(1, Limits.pageItems))
        try walker.optional(4, "heldId", &heldID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.defaulted(5, "allow", &allow, default: false)
        try walker.defaulted(6, "deny", &deny, default: false)
        try walker.optional(7, "reason", &reason, .bytes(Limits.heldReasonBytes))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        guard W.isDecoding, walker.enforcesLimits else { return }
        if heldID == nil, allow || deny { throw .missing("heldId") }
        if heldID != nil, allow == deny {
            throw ChatError(.badParameter, "with heldId exactly one of allow and deny must be true")
        }
    }
}

/// The reply to `held`, and the answer of GET …/held and of POST …/allow and …/deny.
public struct HeldResult: WireMessage, Hashable {
    /// A page, the oldest first. Each has the `heldId` as its ID, and the time at which it was sent. Read from bytes it is
    /// empty in the answer to a repeated denial, too: protobuf tells an empty list from none by nothing.
    public var messages: [Message]?
    /// The cursor of the next page; absent on the last.
    public var next: String?
    /// The message that a decision is about: as it became, or as it was held. Absent in the answer to a repeated denial.
    public var message: Message?

    public static var blank: HeldResult { HeldResult() }

    public init(messages: [Message]? = nil, next: String? = nil, message: Message? = nil) {
        self.messages = messages
        self.next = next
        self.message = message
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.repeatedIfAny(1, "messages", &messages)
        try walker.optional(2, "next", &next)
        try walker.optional(3, "message", &message)
        if W.isDecoding, message == nil, messages == nil { messages = [] }
    }
}
