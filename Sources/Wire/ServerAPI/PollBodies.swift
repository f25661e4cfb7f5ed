import ChatModel

/// Answer of GET …/polls.
public struct PollsResult: WireMessage, Hashable {
    /// Those that are open, and the latest that were closed; oldest first.
    public var polls: [Poll]

    public static var blank: PollsResult { PollsResult(polls: []) }

    public init(polls: [Poll]) { self.polls = polls }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "polls", &polls)
    }
}

/// Body of POST …/polls.
public struct PollBody: WireMessage, Hashable {
    public var poll: String
    public var draft: PollDraft
    public var options = ServerOptions()

    public static var blank: PollBody { PollBody(poll: "", draft: .blank) }

    public init(poll: String, draft: PollDraft) {
        self.poll = poll
        self.draft = draft
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(2, "poll", &poll, .nonEmptyBytes(Limits.pollIDBytes))
        try walker.required(3, "title", &draft.title, .nonEmptyBytes(Limits.pollTitleBytes))
        try walker.list(
            4, "options", &draft.options, itemsMax: Limits.pollOptions, .nonEmptyBytes(Limits.pollOptionBytes))
        try walker.required(5, "seconds", &draft.seconds, .integers(1, Limits.pollSeconds))
        try walker.defaulted(6, "mayChange", &draft.mayChange, default: false)
        try options.walk(&walker)
        guard W.isDecoding, walker.enforcesLimits else { return }
        guard Tally.isKey(poll) else { throw .notPollID }
        try draft.check()
    }
}
