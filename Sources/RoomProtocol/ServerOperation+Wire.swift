import ChatModel
import Wire

/// An operation of the server API as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredServerOperation: WireMessage {
    /// nil: one of a later version.
    var operation: ServerOperation?

    static var blank: WiredServerOperation { WiredServerOperation(operation: nil) }
    static var schemaName: String { "ServerOperation" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = operation
        var read: ServerOperation?
        try walker.choice(
            1, "command", { if case .command(let command) = current { command } else { nil } },
            { read = .command($0) })
        try walker.choice(
            2, "recall", { if case .recall(let recall) = current { recall } else { nil } }, { read = .recall($0) })
        try walker.choice(
            3, "message", { if case .message(let id) = current { WiredName(text: id) } else { nil } },
            { read = .message($0.text) })
        try walker.choice(
            4, "copies",
            { if case .copies(let ids, let user) = current { WiredCopies(messageIDs: ids, user: user) } else { nil } },
            { read = .copies($0.messageIDs, for: $0.user) })
        try walker.choice(
            5, "explain", { if case .explain = current { Empty() } else { nil } }, { (_: Empty) in read = .explain })
        try walker.choice(
            6, "barrage", { if case .barrage(let item) = current { item } else { nil } }, { read = .barrage($0) })
        try walker.choice(
            7, "tallies", { if case .tallies = current { Empty() } else { nil } }, { (_: Empty) in read = .tallies })
        try walker.choice(
            8, "polls", { if case .polls = current { Empty() } else { nil } }, { (_: Empty) in read = .polls })
        try walker.choice(
            20, "media",
            { if case .media(let id, let reader) = current { WiredMedia(id: id, reader: reader) } else { nil } },
            { read = .media($0.id, for: $0.reader) })
        try walker.choice(
            21, "keptMedia",
            { if case .keptMedia(let ids) = current { WiredCopies(messageIDs: ids, user: nil) } else { nil } },
            { read = .keptMedia($0.messageIDs) })
        try walker.choice(
            25, "reports",
            {
                if case .reports(let after, let limit) = current {
                    WiredReportsQuestion(after: after, limit: Int64(limit))
                } else {
                    nil
                }
            }, { read = .reports(after: $0.after, limit: Int(clamping: $0.limit)) })
        if W.isDecoding { operation = read }
    }
}

private struct WiredReportsQuestion: WireMessage {
    var after: String?
    var limit: Int64

    static var blank: WiredReportsQuestion { WiredReportsQuestion(after: nil, limit: 0) }
    static var schemaName: String { "ReportsQuestion" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "after", &after)
        try walker.shown(2, "limit", &limit)
    }
}

private struct WiredMedia: WireMessage {
    var id: String
    var reader: MediaReader?

    static var blank: WiredMedia { WiredMedia(id: "", reader: nil) }
    static var schemaName: String { "MediaQuestion" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "id", &id)
        try walker.optional(2, "reader", &reader)
    }
}

private struct WiredName: WireMessage {
    var text: String

    static var blank: WiredName { WiredName(text: "") }
    static var schemaName: String { "Name" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "text", &text)
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
