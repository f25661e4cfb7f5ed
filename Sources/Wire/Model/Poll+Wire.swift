import ChatModel

/// As everybody sees it.
extension Poll: WireMessage {
    public static var blank: Poll { Poll(id: "", title: "", options: [], closesAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "poll", &id)
        try walker.shown(2, "title", &title)
        try walker.list(3, "options", &options)
        try walker.list(4, "counts", &counts)
        try walker.shown(5, "closesAt", &closesAt)
        try walker.shown(6, "mayChange", &mayChange)
        try walker.shown(7, "closed", &closed)
    }
}

extension PollDraft: WireMessage {
    public static var blank: PollDraft { PollDraft(title: "", options: [], seconds: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "title", &title)
        try walker.list(2, "options", &options)
        try walker.shown(3, "seconds", &seconds)
        try walker.shown(4, "mayChange", &mayChange)
    }
}

extension PollKey: WireMessage {
    public static var blank: PollKey { PollKey(high: 0, low: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "high", &high)
        try walker.shown(2, "low", &low)
    }
}

extension PollRecord: WireMessage {
    public static var blank: PollRecord { PollRecord(poll: .blank, number: 0, key: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "poll", &poll)
        try walker.shown(2, "number", &number)
        try walker.required(3, "key", &key)
        try walker.optional(4, "closedAt", &closedAt)
    }
}

extension PollVotes: WireMessage {
    public static var blank: PollVotes { PollVotes(bytes: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "votes", &bytes)
    }
}
