import ChatModel
import Wire

/// A question as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredQuestion: WireMessage {
    var id: UInt64
    var question: NodeQuestion

    static var blank: WiredQuestion { WiredQuestion(id: 0, question: .unknown) }
    static var schemaName: String { "NodeQuestion" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "id", &id)
        let current = question
        var read = NodeQuestion.unknown
        try walker.choice(
            3, "explain", { if case .explain(let room) = current { RoomNameRequest(room: room) } else { nil } },
            { read = .explain($0.room) })
        try walker.choice(
            4, "rooms",
            {
                if case .rooms(let after, let limit) = current {
                    WiredRoomsAfter(after: after, limit: limit)
                } else {
                    nil
                }
            }, { read = .rooms(after: $0.after, limit: $0.limit) })
        try walker.choice(
            5, "onlineRooms",
            { if case .onlineRooms(let after, let limit) = current { WiredPlace(after, limit) } else { nil } },
            { read = .onlineRooms(after: $0.after, limit: $0.limit) })
        try walker.choice(
            6, "propose",
            {
                if case .propose(let command, let key) = current {
                    SystemEntry(time: .blank, key: key, command: command)
                } else {
                    nil
                }
            }, { read = .propose($0.command, key: $0.key) })
        try walker.choice(
            7, "cluster", { if case .cluster = current { Empty() } else { nil } }, { (_: Empty) in read = .cluster })
        try walker.choice(
            8, "join", { if case .join(let record) = current { record } else { nil } }, { read = .join($0) })
        try walker.choice(
            9, "status", { if case .status = current { Empty() } else { nil } }, { (_: Empty) in read = .status })
        try walkSessions(&walker, current, &read)
        try walkOperating(&walker, current, &read)
        try walkMedia(&walker, current, &read)
        if W.isDecoding { question = read }
    }

    private func walkSessions<W: FieldWalker>(
        _ walker: inout W, _ current: NodeQuestion, _ read: inout NodeQuestion
    ) throws(ChatError) {
        var known = read
        try walker.choice(
            10, "sessionsOf", { if case .sessions(let user) = current { WiredUser(user: user) } else { nil } },
            { known = .sessions(of: $0.user) })
        try walker.choice(
            11, "sessionPage",
            { if case .sessionPage(let after, let limit) = current { WiredPlace(after, limit) } else { nil } },
            { known = .sessionPage(after: $0.after, limit: $0.limit) })
        try walker.choice(
            12, "slowSessions",
            { if case .slowSessions(let limit) = current { WiredPlace(nil, limit) } else { nil } },
            { known = .slowSessions(limit: $0.limit) })
        try walker.choice(
            13, "endSessions", { if case .endSessions(let user) = current { WiredUser(user: user) } else { nil } },
            { known = .endSessions(of: $0.user) })
        try walker.choice(
            14, "endSession",
            { if case .endSession(let session) = current { WiredSessionID(session: session) } else { nil } },
            { known = .endSession($0.session) })
        try walker.choice(
            15, "direct",
            {
                if case .direct(let message, let user) = current {
                    WiredDirect(user: user, message: message)
                } else {
                    nil
                }
            }, { known = .direct($0.message, to: $0.user) })
        try walker.choice(
            16, "broadcast",
            { if case .broadcast(let message) = current { StoredMessage(message: message) } else { nil } },
            { known = .broadcast($0.message) })
        read = known
    }

    private func walkOperating<W: FieldWalker>(
        _ walker: inout W, _ current: NodeQuestion, _ read: inout NodeQuestion
    ) throws(ChatError) {
        var known = read
        try walker.choice(
            17, "lanes", { if case .lanes(let room) = current { RoomNameRequest(room: room) } else { nil } },
            { known = .lanes($0.room) })
        try walker.choice(
            18, "transfer",
            {
                if case .transfer(let shard, let node) = current {
                    WiredTransfer(shard: shard, node: node)
                } else {
                    nil
                }
            }, { known = .transfer($0.shard, to: $0.node) })
        try walker.choice(
            19, "shards", { if case .shards = current { Empty() } else { nil } }, { (_: Empty) in known = .shards })
        // 20 was a page of the node's own record alone.
        try walker.choice(
            21, "logLevel", { if case .setLogLevel(let level) = current { LogSettings(level: level) } else { nil } },
            { known = .setLogLevel($0.level) })
        try walker.choice(
            22, "backup", { if case .backup(let name) = current { name } else { nil } }, { known = .backup($0) })
        try walker.choice(
            23, "discardBackup", { if case .discardBackup(let name) = current { name } else { nil } },
            { known = .discardBackup($0) })
        try walker.choice(
            24, "migrateSession",
            {
                if case .migrateSession(let session, let user) = current {
                    WiredHandOver(session: session, user: user)
                } else {
                    nil
                }
            }, { known = .migrateSession($0.session, to: $0.user) })
        try walker.choice(
            25, "clock", { if case .clock = current { Empty() } else { nil } }, { (_: Empty) in known = .clock })
        try walker.choice(
            26, "deletedRooms",
            {
                if case .deletedRooms(let after, let limit) = current {
                    WiredRoomsAfter(after: after, limit: limit)
                } else {
                    nil
                }
            }, { known = .deletedRooms(after: $0.after, limit: $0.limit) })
        try walker.choice(
            27, "roomCount", { if case .roomCount = current { Empty() } else { nil } },
            { (_: Empty) in known = .roomCount })
        try walker.choice(
            28, "audit", { if case .audit(let query) = current { WiredAuditQuery(query) } else { nil } },
            { known = .audit($0.query) })
        try walker.choice(
            29, "keepAudit", { if case .keepAudit(let items) = current { AuditView(items: items) } else { nil } },
            { known = .keepAudit($0.items) })
        try walker.choice(
            30, "figures", { if case .figures = current { Empty() } else { nil } }, { (_: Empty) in known = .figures })
        try walker.choice(
            31, "devices", { if case .devices(let news) = current { news } else { nil } }, { known = .devices($0) })
        try walker.choice(
            32, "reach", { if case .reach(let news) = current { news } else { nil } }, { known = .reach($0) })
        read = known
    }
}

private struct WiredRoomsAfter: WireMessage {
    var after: RoomID?
    var limit: Int

    static var blank: WiredRoomsAfter { WiredRoomsAfter(after: nil, limit: 0) }
    static var schemaName: String { "RoomsAfter" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "after", &after)
        try walker.shown(2, "limit", &limit)
    }
}

/// A place in a listing.
private struct WiredPlace: WireMessage {
    var after: String?
    var limit: Int

    init(_ after: String?, _ limit: Int) {
        self.after = after
        self.limit = limit
    }

    static var blank: WiredPlace { WiredPlace(nil, 0) }
    static var schemaName: String { "Place" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "after", &after)
        try walker.shown(2, "limit", &limit)
    }
}

private struct WiredSessionID: WireMessage {
    var session: SessionID

    static var blank: WiredSessionID { WiredSessionID(session: .blank) }
    static var schemaName: String { "SessionName" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
    }
}

private struct WiredDirect: WireMessage {
    var user: UserID
    var message: Message

    static var blank: WiredDirect { WiredDirect(user: .blank, message: .blank) }
    static var schemaName: String { "Direct" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var stored = StoredMessage(message: message)
        try walker.required(1, "user", &user)
        try walker.required(2, "message", &stored)
        if W.isDecoding { message = stored.message }
    }
}

private struct WiredTransfer: WireMessage {
    var shard: ShardID
    var node: NodeID

    static var blank: WiredTransfer { WiredTransfer(shard: ShardID(0), node: .blank) }
    static var schemaName: String { "Transfer" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = UInt32(shard.number)
        try walker.shown(1, "shard", &number)
        try walker.required(2, "to", &node)
        if W.isDecoding { shard = try ShardID(wired: number) }
    }
}

private struct WiredAuditQuery: WireMessage {
    var query: AuditQuery

    init(_ query: AuditQuery) { self.query = query }

    static var blank: WiredAuditQuery { WiredAuditQuery(AuditQuery(limit: 0)) }
    static var schemaName: String { "AuditQuery" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (id, node) = (query.before?.id, query.before?.node)
        try walker.optional(1, "beforeID", &id)
        try walker.optional(2, "beforeNode", &node)
        try walker.shown(3, "limit", &query.limit)
        try walker.optional(4, "actor", &query.actor)
        try walker.optional(5, "room", &query.room)
        try walker.optional(6, "action", &query.action)
        if W.isDecoding, let id, let node { query.before = AuditPlace(id: id, node: node) }
    }
}
