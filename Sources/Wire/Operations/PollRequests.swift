import ChatModel

/// `poll`: opens a poll, or closes one (PROTOCOL.md, "Polls").
public struct PollRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var poll: String
    public var title = ""
    public var options: [String] = []
    public var seconds: Int64 = 0
    public var mayChange = false
    /// Closes it; title, options and seconds are not looked at then.
    public var close = false
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: PollRequest { PollRequest(room: .blank, poll: "") }

    var contentBytes: Int { options.reduce(title.utf8.count) { $0 + $1.utf8.count } }

    var draft: PollDraft { PollDraft(title: title, options: options, seconds: seconds, mayChange: mayChange) }

    /// Closes a poll.
    public init(closing poll: String, in room: RoomID, clientID: String? = nil) {
        self.init(room: room, poll: poll, clientID: clientID)
        close = true
    }

    public init(_ draft: PollDraft, poll: String, in room: RoomID, clientID: String? = nil) {
        self.init(room: room, poll: poll, clientID: clientID)
        (title, options, seconds, mayChange) = (draft.title, draft.options, draft.seconds, draft.mayChange)
    }

    private init(room: RoomID, poll: String, clientID: String? = nil) {
        self.room = room
        self.poll = poll
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "poll", &poll, .nonEmptyBytes(Limits.pollIDBytes))
        try walker.defaulted(3, "title", &title, default: "", .bytes(Limits.pollTitleBytes))
        try walker.repeated(
            4, "options", &options, itemsMax: Limits.pollOptions, .nonEmptyBytes(Limits.pollOptionBytes))
        try walker.defaulted(5, "seconds", &seconds, default: 0, .integers(0, Limits.pollSeconds))
        try walker.defaulted(6, "mayChange", &mayChange, default: false)
        try walker.defaulted(7, "close", &close, default: false)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
        guard W.isDecoding, walker.enforcesLimits else { return }
        guard Tally.isKey(poll) else { throw .notPollID }
        if !close { try draft.check() }
    }
}

extension PollDraft {
    /// Throws 414 for a poll without a title, or with too few options, or without an end.
    public func check() throws(ChatError) {
        if title.isEmpty { throw ChatError(.badParameter, "title is required", field: "title") }
        guard options.count >= Limits.pollOptionsMin else {
            throw ChatError(.badParameter, "a poll has \(Limits.pollOptionsMin) options at least", field: "options")
        }
        guard seconds > 0 else {
            throw ChatError(.badParameter, "seconds must be from 1 to \(Limits.pollSeconds)", field: "seconds")
        }
    }
}

extension ChatError {
    /// 414: the text is none of the IDs that polls can have.
    public static var notPollID: ChatError {
        ChatError(.badParameter, "poll is 1 to \(Limits.pollIDBytes) characters of A-Z a-z 0-9 _ . : -", field: "poll")
    }
}

/// `vote`: the sender's vote in a poll.
public struct VoteRequest: WireMessage, ChangeBody, Hashable {
    public var room: RoomID
    public var poll: String
    /// Its place among the poll's options, from 0.
    public var option: Int64
    /// Makes repeats harmless (PROTOCOL.md, "Retry"); 1 to 64 bytes.
    public var clientID: String?

    public static var blank: VoteRequest { VoteRequest(room: .blank, poll: "", option: 0) }

    public init(room: RoomID, poll: String, option: Int64, clientID: String? = nil) {
        self.room = room
        self.poll = poll
        self.option = option
        self.clientID = clientID
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "poll", &poll, .nonEmptyBytes(Limits.pollIDBytes))
        try walker.required(3, "option", &option, .integers(0, Int64(Limits.pollOptions) - 1))
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// The reply to `poll` and `vote`.
public struct PollResult: WireMessage, Hashable {
    public var poll: Poll

    public static var blank: PollResult { PollResult(poll: .blank) }

    public init(poll: Poll) { self.poll = poll }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "poll", &poll)
    }
}
