import ChatModel
import Wire

/// A question about a room as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredRoomQuestion: WireMessage {
    var room: RoomID
    /// nil: one of a later version.
    var question: RoomQuestion?

    static var blank: WiredRoomQuestion { WiredRoomQuestion(room: .blank, question: nil) }
    static var schemaName: String { "RoomQuestion" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        let (room, current) = (room, question)
        var read: RoomQuestion?
        try walker.choice(
            2, "command",
            {
                if case .command(let body, let actor, let profile, let moderate, let id) = current {
                    ServerCommand(body, actor: actor, id: id, profile: profile, moderate: moderate)
                } else {
                    nil
                }
            }, { read = .command($0.body, $0.actor, showing: $0.profile, moderate: $0.moderate, id: $0.id) })
        try walker.choice(
            3, "recall", { ServerRecall(current) }, { read = .recall($0.scope, $0.options, $0.actor, id: $0.id) })
        try walker.choice(
            4, "view", { if case .view = current { Empty() } else { nil } }, { (_: Empty) in read = .view })
        try walker.choice(
            5, "history",
            { if case .history(let query) = current { RoomHistoryRequest(room: room, query: query) } else { nil } },
            { read = .history($0.query) })
        try walker.choice(
            6, "message",
            { if case .message(let id) = current { CombinedRequest(room: room, messageID: id) } else { nil } },
            { read = .message($0.messageID) })
        try walker.choice(
            7, "copies",
            { if case .copies(let ids, let user) = current { WiredCopies(messageIDs: ids, user: user) } else { nil } },
            { read = .copies($0.messageIDs, for: $0.user) })
        try walker.choice(
            8, "members",
            {
                if case .members(let kind, let after, let limit) = current {
                    MembersRequest(room: room, kind: kind, after: after, limit: Int64(limit))
                } else {
                    nil
                }
            }, { read = .members($0.kind, after: $0.after, limit: Int($0.limit)) })
        try walker.choice(
            9, "member", { if case .member(let user) = current { WiredUser(user: user) } else { nil } },
            { read = .member($0.user) })
        try walker.choice(
            10, "queue",
            {
                if case .queue(let after, let limit) = current {
                    QueueRequest(room: room, after: after, limit: Int64(limit))
                } else {
                    nil
                }
            }, { read = .queue(after: $0.after, limit: Int($0.limit)) })
        try walker.choice(
            11, "explain", { if case .explain = current { Empty() } else { nil } }, { (_: Empty) in read = .explain })
        try walker.choice(
            12, "barrage", { if case .barrage(let item) = current { item } else { nil } }, { read = .barrage($0) })
        if W.isDecoding { question = read }
    }
}

extension ServerRecall {
    fileprivate init?(_ question: RoomQuestion?) {
        guard case .recall(let scope, let options, let actor, let id) = question else { return nil }
        self.init(actor: actor, id: id, options: options)
        switch scope {
        case .message(let messageID): self.messageID = messageID
        case .messages(let user, let since): (self.user, self.since) = (user, since)
        }
    }

    fileprivate var scope: RecallScope {
        if let user { .messages(of: user, since: since) } else { .message(messageID ?? "") }
    }
}

private struct WiredCopies: WireMessage {
    var messageIDs: [String]
    var user: UserID?

    static var blank: WiredCopies { WiredCopies(messageIDs: [], user: nil) }
    static var schemaName: String { "Copies" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "messageIds", &messageIDs)
        try walker.optional(2, "user", &user)
    }
}

/// A user, alone.
struct WiredUser: WireMessage {
    var user: UserID

    static var blank: WiredUser { WiredUser(user: .blank) }
    static var schemaName: String { "User" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.required(1, "user", &user) }
}

/// A room's answer as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredRoomAnswer: WireMessage {
    /// nil: one of a later version.
    var answer: RoomAnswer?

    static var blank: WiredRoomAnswer { WiredRoomAnswer(answer: nil) }
    static var schemaName: String { "RoomAnswer" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = answer
        var read: RoomAnswer?
        try walker.choice(
            1, "command", { if case .command(let result) = current { result } else { nil } },
            { read = .command($0) })
        try walker.choice(
            2, "view", { if case .view(let view) = current { view } else { nil } }, { read = .view($0) })
        try walker.choice(
            3, "history", { if case .history(let page) = current { WiredPage(page) } else { nil } },
            { read = .history($0.page) })
        try walker.choice(
            4, "message",
            { if case .message(let message) = current { StoredMessage(message: message) } else { nil } },
            { read = .message($0.message) })
        try walker.choice(
            5, "copies", { if case .copies(let found) = current { WiredFound(found: found) } else { nil } },
            { read = .copies($0.found) })
        try walker.choice(
            6, "members", { if case .members(let page) = current { MembersResult(page) } else { nil } },
            { read = .members(Page(items: $0.members, next: $0.next)) })
        try walker.choice(
            7, "member", { if case .member(let member) = current { member } else { nil } },
            { read = .member($0) })
        try walker.choice(
            8, "queue", { if case .queue(let result) = current { result } else { nil } }, { read = .queue($0) })
        try walker.choice(
            9, "explain", { if case .explain(let figures) = current { figures } else { nil } },
            { read = .explain($0) })
        try walker.choice(
            10, "done", { if case .done = current { Empty() } else { nil } }, { (_: Empty) in read = .done })
        if W.isDecoding { answer = read }
    }
}

private struct WiredPage: WireMessage {
    var page: HistoryPage

    init(_ page: HistoryPage) { self.page = page }

    static var blank: WiredPage { WiredPage(HistoryPage(messages: [], more: false)) }
    static var schemaName: String { "Page" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var messages = W.isDecoding ? [] : page.messages.map(StoredMessage.init)
        try walker.list(1, "messages", &messages)
        try walker.shown(2, "more", &page.more)
        if W.isDecoding { page.messages = messages.map(\.message) }
    }
}

/// Messages by the IDs that they were asked by, in the order of these.
private struct WiredFound: WireMessage {
    var found: [String: Message]

    static var blank: WiredFound { WiredFound(found: [:]) }
    static var schemaName: String { "Found" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var list = W.isDecoding ? [] : found.sorted { $0.key < $1.key }.map { WiredCopy(id: $0.key, message: $0.value) }
        try walker.list(1, "copies", &list)
        if W.isDecoding { found = Dictionary(list.map { ($0.id, $0.message) }) { _, last in last } }
    }
}

private struct WiredCopy: WireMessage {
    var id: String
    var message: Message

    static var blank: WiredCopy { WiredCopy(id: "", message: .blank) }
    static var schemaName: String { "Copy" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var stored = StoredMessage(message: message)
        try walker.required(1, "id", &id)
        try walker.required(2, "message", &stored)
        if W.isDecoding { message = stored.message }
    }
}
