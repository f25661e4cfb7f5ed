import ChatModel
import Wire

/// An answer as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredAnswer: WireMessage {
    var id: UInt64
    var result: Result<NodeAnswer, ChatError>

    /// An answer of a later version is an error.
    static var blank: WiredAnswer {
        WiredAnswer(id: 0, result: .failure(ChatError(.internal, "an answer of a later version")))
    }
    static var schemaName: String { "NodeAnswer" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "id", &id)
        let result = result
        var read: Result<NodeAnswer, ChatError>?
        try walker.choice(
            2, "error", { if case .failure(let error) = result { error } else { nil } }, { read = .failure($0) })
        let current: NodeAnswer? = if case .success(let answer) = result { answer } else { nil }
        try walker.choice(
            4, "explanation", { if case .explanation(let it) = current { it } else { nil } },
            { read = .success(.explanation($0)) })
        try walker.choice(
            5, "rooms",
            { if case .rooms(let rooms, let next) = current { RoomsView(rooms: rooms, next: next) } else { nil } },
            { read = .success(.rooms($0.rooms, next: $0.next)) })
        try walker.choice(
            6, "applied",
            {
                if case .applied(let result, let index) = current {
                    WiredApplied(result: result, index: index)
                } else {
                    nil
                }
            }, { read = .success(.applied($0.result, index: $0.index)) })
        try walker.choice(
            7, "cluster",
            {
                if case .cluster(let id, let shards) = current {
                    WiredCluster(id: id, shardCount: shards)
                } else {
                    nil
                }
            }, { read = .success(.cluster(id: $0.id, shardCount: $0.shardCount)) })
        try walker.choice(
            8, "status", { if case .status(let status) = current { WiredStatus(status) } else { nil } },
            { read = .success(.status($0.status)) })
        try walker.choice(
            9, "sessions",
            {
                if case .sessions(let sessions, let next) = current {
                    SessionsView(sessions: sessions, next: next)
                } else {
                    nil
                }
            }, { read = .success(.sessions($0.sessions, next: $0.next)) })
        try walker.choice(
            10, "count", { if case .count(let count) = current { count } else { nil } },
            { read = .success(.count($0)) })
        try walker.choice(
            11, "lanes", { if case .lanes(let lanes) = current { WiredLanes(lanes: lanes) } else { nil } },
            { read = .success(.lanes($0.lanes)) })
        try walker.choice(
            12, "shards", { if case .shards(let shards) = current { ShardsView(shards: shards) } else { nil } },
            { read = .success(.shards($0.shards)) })
        try walker.choice(
            13, "audit", { if case .audit(let items) = current { AuditView(items: items) } else { nil } },
            { read = .success(.audit($0.items)) })
        try walker.choice(
            14, "done", { if case .done = current { Empty() } else { nil } },
            { (_: Empty) in read = .success(.done) })
        try walker.choice(
            15, "backup",
            {
                if case .backup(let copy, let shards, let hasSystem) = current {
                    WiredBackup(copy: copy, shards: shards, hasSystem: hasSystem)
                } else {
                    nil
                }
            }, { read = .success(.backup($0.copy, shards: $0.shards, hasSystem: $0.hasSystem)) })
        try walker.choice(
            16, "session", { if case .session(let handed) = current { handed } else { nil } },
            { read = .success(.session($0)) })
        try walker.choice(
            17, "clock", { if case .clock(let time) = current { WiredClock(time: time) } else { nil } },
            { read = .success(.clock($0.time)) })
        try walker.choice(
            18, "figures", { if case .figures(let figures) = current { figures } else { nil } },
            { read = .success(.figures($0)) })
        try walker.choice(
            19, "devices", { if case .devices(let news) = current { news } else { nil } },
            { read = .success(.devices($0)) })
        try walker.choice(
            20, "reach", { if case .reach(let news) = current { news } else { nil } },
            { read = .success(.reach($0)) })
        try walker.choice(
            30, "mediaUses", { if case .mediaUses(let use) = current { use } else { nil } },
            { read = .success(.mediaUses($0)) })
        try walker.choice(
            36, "bytes", { if case .bytes(let bytes) = current { WiredBytes(bytes: bytes) } else { nil } },
            { read = .success(.bytes($0.bytes)) })
        if W.isDecoding, let read { self.result = read }
    }
}

private struct WiredApplied: WireMessage {
    var result: SystemResult
    var index: UInt64

    static var blank: WiredApplied { WiredApplied(result: .done, index: 0) }
    static var schemaName: String { "Applied" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "result", &result)
        try walker.shown(2, "index", &index)
    }
}

private struct WiredCluster: WireMessage {
    var id: String
    var shardCount: UInt16

    static var blank: WiredCluster { WiredCluster(id: "", shardCount: 0) }
    static var schemaName: String { "ClusterName" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var count = UInt32(shardCount)
        try walker.required(1, "id", &id)
        try walker.required(2, "shardCount", &count)
        guard W.isDecoding else { return }
        guard let exact = UInt16(exactly: count) else {
            throw ChatError(.badParameter, "there are no \(count) shards")
        }
        shardCount = exact
    }
}

private struct WiredStatus: WireMessage {
    var status: NodeStatus

    init(_ status: NodeStatus) { self.status = status }

    static var blank: WiredStatus {
        WiredStatus(NodeStatus(node: .blank, version: "", gateways: [], leads: [], stats: .blank))
    }
    static var schemaName: String { "NodeStatus" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var leads = status.leads.map { UInt32($0.number) }
        try walker.required(1, "node", &status.node)
        try walker.shown(2, "version", &status.version)
        try walker.list(3, "gateways", &status.gateways)
        try walker.list(4, "leads", &leads)
        try walker.required(5, "stats", &status.stats)
        var level: Int64? = status.level == .first ? nil : Int64(status.level.number)
        try walker.optional(6, "featureLevel", &level)
        try walker.optional(7, "tokenKeys", &status.tokenKeys)
        guard W.isDecoding else { return }
        status.level = FeatureLevel(level.flatMap { Int(exactly: $0) } ?? FeatureLevel.first.number)
        status.leads = []
        for number in leads { status.leads.append(try ShardID(wired: number)) }
    }
}

private struct WiredBackup: WireMessage {
    var copy: BackupCopy
    var shards: [ShardID]
    var hasSystem: Bool

    static var blank: WiredBackup { WiredBackup(copy: .blank, shards: [], hasSystem: false) }
    static var schemaName: String { "NodeBackup" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var numbers = shards.map { UInt32($0.number) }
        try walker.required(1, "copy", &copy)
        try walker.list(2, "shards", &numbers)
        try walker.shown(3, "hasSystem", &hasSystem)
        guard W.isDecoding else { return }
        shards = []
        for number in numbers { shards.append(try ShardID(wired: number)) }
    }
}

private struct WiredClock: WireMessage {
    var time: Timestamp

    static var blank: WiredClock { WiredClock(time: .blank) }
    static var schemaName: String { "Clock" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.shown(1, "time", &time) }
}

private struct WiredLanes: WireMessage {
    var lanes: [LaneFigures]

    static var blank: WiredLanes { WiredLanes(lanes: []) }
    static var schemaName: String { "Lanes" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.list(1, "lanes", &lanes) }
}

private struct WiredBytes: WireMessage {
    var bytes: [UInt8]

    static var blank: WiredBytes { WiredBytes(bytes: []) }
    static var schemaName: String { "Bytes" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.shown(1, "bytes", &bytes) }
}
