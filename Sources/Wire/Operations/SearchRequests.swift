import ChatModel

/// `search`: messages of a room that have a text, the newest first; for managers.
public struct SearchRequest: WireMessage, OperationBody, Hashable {
    public var room: RoomID
    /// 1 to 64 Unicode scalars, and at most 256 bytes.
    public var text: String
    /// Only messages of this user.
    public var user: UserID?
    /// Only messages of these types; empty: of all.
    public var types: [MessageType] = []
    /// Only messages at or after this time; 0: from the oldest on.
    public var startTime = Timestamp(0)
    /// Only messages at or before this time; 0: up to the newest.
    public var endTime = Timestamp(0)
    /// 1 to 100.
    public var limit = Limits.searchItemsDefault
    /// The cursor `next` of the page before.
    public var after: String?

    public static var blank: SearchRequest { SearchRequest(room: .blank, text: "") }

    public init(
        room: RoomID, text: String, user: UserID? = nil, types: [MessageType] = [],
        startTime: Timestamp = Timestamp(0), endTime: Timestamp = Timestamp(0),
        limit: Int64 = Limits.searchItemsDefault, after: String? = nil
    ) {
        self.room = room
        self.text = text
        self.user = user
        self.types = types
        self.startTime = startTime
        self.endTime = endTime
        self.limit = limit
        self.after = after
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "text", &text, .nonEmptyBytes(Limits.searchTextBytes))
        try walker.optional(3, "user", &user)
        try walker.repeated(4, "types", &types, itemsMax: MessageType.allCases.count)
        try walker.defaulted(5, "startTime", &startTime, default: .blank, .integers(0, .max))
        try walker.defaulted(6, "endTime", &endTime, default: .blank, .integers(0, .max))
        try walker.defaulted(
            7, "limit", &limit, default: Limits.searchItemsDefault, .integers(1, Limits.pageItems))
        try walker.optional(8, "after", &after, .bytes(Limits.opaqueIDBytes))
        if W.isDecoding, walker.enforcesLimits { try checkText() }
    }

    /// - Throws: 413 for a text of too many characters.
    public func checkText() throws(ChatError) {
        guard text.unicodeScalars.count <= Limits.searchTextScalars else {
            throw ChatError(
                .tooLarge, "text must have at most \(Limits.searchTextScalars) characters", field: "text")
        }
    }
}

/// The reply to `search`, and the answer of GET …/search.
public struct SearchResult: WireMessage, Hashable {
    /// The newest first.
    public var messages: [Message]
    /// The cursor of the next page; absent on the last. A page with few messages, or none, may have it.
    public var next: String?

    public static var blank: SearchResult { SearchResult(messages: []) }

    public init(messages: [Message], next: String? = nil) {
        self.messages = messages
        self.next = next
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "messages", &messages)
        try walker.optional(2, "next", &next)
    }
}
