import ChatModel

/// An entry of the system group's log, with the leader's stamp.
///
/// Fields 1 to 4, and 7 from level 2 on, are the entry that creates a cluster. Fields 1 to 4 alone are the only entry of
/// version 0.
public struct SystemEntry: WireMessage, Hashable {
    public var time: Timestamp
    /// The idempotency key of the call that made it.
    public var key: String?
    public var command: SystemCommand

    public static var blank: SystemEntry { SystemEntry(time: .blank, key: nil, command: .begin) }

    public init(time: Timestamp, key: String?, command: SystemCommand) {
        self.time = time
        self.key = key
        self.command = command
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var creation = Creation(command)
        try walker.optional(1, "clusterId", &creation.clusterID)
        try walker.optional(2, "shardCount", &creation.shardCount)
        try walker.optional(3, "node", &creation.node)
        try walker.optional(4, "store", &creation.store)
        try walker.shown(5, "time", &time)
        try walker.optional(6, "key", &key)
        try walker.optional(7, "featureLevel", &creation.level)
        let current = command
        var seen = 0
        try seen +=
            walker.choice(
                10, "revoke", { if case .revoke(let user) = current { UserBody(user: user) } else { nil } },
                { command = .revoke($0.user) }) ? 1 : 0
        try seen +=
            walker.choice(
                11, "setting",
                {
                    if case .put(let name, let value) = current {
                        SettingBody(name: name.text, value: value)
                    } else {
                        nil
                    }
                },
                { body in
                    if let name = SettingName(body.name) { command = .put(setting: name, value: body.value) }
                }) ? 1 : 0
        try seen +=
            walker.choice(
                12, "begin", { if case .begin = current { Empty() } else { nil } }, { _ in command = .begin })
            ? 1 : 0
        try seen +=
            walker.choice(
                13, "finish", { if case .finish(let answer) = current { AnswerBody(answer: answer) } else { nil } },
                { command = .finish(answer: $0.answer) }) ? 1 : 0
        try seen +=
            walker.choice(
                14, "nonce", { if case .nonce = current { Empty() } else { nil } }, { _ in command = .nonce })
            ? 1 : 0
        try seen +=
            walker.choice(
                15, "addNode", { if case .addNode(let it) = current { it } else { nil } }, { command = .addNode($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                16, "removeNode",
                {
                    switch current {
                    case .removeNode(let node, let certificate): NodeBody(node: node, certificate: certificate)
                    case .readmitNode(let node): NodeBody(node: node, isReadmitted: true)
                    default: nil
                    }
                },
                {
                    command =
                        $0.isReadmitted ? .readmitNode($0.node) : .removeNode($0.node, certificate: $0.certificate)
                }
            ) ? 1 : 0
        try seen +=
            walker.choice(
                17, "setDraining",
                {
                    if case .setDraining(let node, let draining) = current {
                        DrainingBody(node: node, draining: draining)
                    } else {
                        nil
                    }
                }, { command = .setDraining($0.node, $0.draining) }) ? 1 : 0
        try seen +=
            walker.choice(
                18, "raiseLevel",
                {
                    if case .raiseLevel(let level, let stores) = current {
                        LevelBody(level: level, stores: stores)
                    } else {
                        nil
                    }
                }, { command = .raiseLevel($0.level, stores: $0.stores) }) ? 1 : 0
        try seen +=
            walker.choice(
                19, "sanction", { SanctionBody(current) },
                {
                    command = .sanction($0.user, $0.kind, seconds: $0.seconds, reason: $0.reason, owes: $0.owes)
                }) ? 1 : 0
        try seen +=
            walker.choice(
                20, "sanctionsTold",
                { if case .sanctionsTold(let index) = current { IndexBody(index: index) } else { nil } },
                { command = .sanctionsTold(through: $0.index) }) ? 1 : 0
        guard W.isDecoding else { return }
        if seen == 0 { command = try creation.command() }
    }

    /// The fields of version 0.
    private struct Creation {
        var clusterID: String?
        var shardCount: Int64?
        var node: String?
        var store: Int64?
        /// Absent: the first.
        var level: Int64?

        init(_ command: SystemCommand) {
            guard case .createCluster(let id, let shards, let node, let store, let level) = command else { return }
            (clusterID, shardCount) = (id, Int64(shards))
            (self.node, self.store) = (node.text, Int64(bitPattern: store))
            if level > .first { self.level = Int64(level.number) }
        }

        func command() throws(ChatError) -> SystemCommand {
            guard let clusterID, let node = node.flatMap(NodeID.init), let store,
                let shards = shardCount.flatMap({ UInt16(exactly: $0) })
            else { throw .missing("command") }
            return .createCluster(
                id: clusterID, shardCount: shards, node: node, store: UInt64(bitPattern: store),
                level: try FeatureLevel(stored: level))
        }
    }
}

/// A user, alone.
struct UserBody: WireMessage {
    var user: UserID

    static var blank: UserBody { UserBody(user: .blank) }
    static var schemaName: String { "SystemRevoke" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
    }
}

/// A ban or a mute of a user in all rooms, or its end.
struct SanctionBody: WireMessage {
    var user: UserID
    var kind: SanctionKind
    var seconds: Int64?
    var reason: String?
    var owes: Bool

    static var blank: SanctionBody { SanctionBody(user: .blank, kind: .blank, owes: false) }
    static var schemaName: String { "SystemSanctionChange" }

    init(user: UserID, kind: SanctionKind, owes: Bool) {
        self.user = user
        self.kind = kind
        self.owes = owes
    }

    init?(_ command: SystemCommand) {
        guard case .sanction(let user, let kind, let seconds, let reason, let owes) = command else { return nil }
        self.init(user: user, kind: kind, owes: owes)
        (self.seconds, self.reason) = (seconds, reason)
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "kind", &kind)
        try walker.optional(3, "seconds", &seconds)
        try walker.optional(4, "reason", &reason)
        try walker.defaulted(5, "owes", &owes, default: false)
    }
}

/// A place in the log.
struct IndexBody: WireMessage {
    var index: UInt64

    static var blank: IndexBody { IndexBody(index: 0) }
    static var schemaName: String { "SystemLogIndex" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.shown(1, "index", &index) }
}

extension SanctionKind: WireEnum {
    public static var blank: SanctionKind { .banned }
    public var number: Int {
        switch self {
        case .banned: 1
        case .muted: 2
        }
    }
}

/// A setting and its new value.
struct SettingBody: WireMessage {
    var name: String
    var value: [UInt8]?

    static var blank: SettingBody { SettingBody(name: "", value: nil) }
    static var schemaName: String { "SystemSettingChange" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "name", &name)
        if W.isDecoding, SettingName(name) == nil { throw .wrongType("the name of a setting") }
        try walker.optional(2, "value", &value)
    }
}

/// The answer of a call; absent when it did nothing.
struct AnswerBody: WireMessage {
    var answer: [UInt8]?

    static var blank: AnswerBody { AnswerBody(answer: nil) }
    static var schemaName: String { "SystemAnswer" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "answer", &answer)
    }
}

/// A node that is taken out, or that may come again. A program that does not know the second refuses it as the removal of
/// a node that there is not, which changes nothing.
struct NodeBody: WireMessage {
    var node: NodeID
    var isReadmitted = false
    var certificate: [UInt8]?

    static var blank: NodeBody { NodeBody(node: .blank) }
    static var schemaName: String { "SystemNodeRemoval" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.defaulted(2, "readmitted", &isReadmitted, default: false)
        try walker.optional(3, "certificate", &certificate)
    }
}

/// Whether a node is being emptied.
struct DrainingBody: WireMessage {
    var node: NodeID
    var draining: Bool

    static var blank: DrainingBody { DrainingBody(node: .blank, draining: false) }
    static var schemaName: String { "SystemNodeDraining" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.shown(2, "draining", &draining)
    }
}

/// A feature level, and the stores of the nodes that can do it.
struct LevelBody: WireMessage {
    var level: FeatureLevel
    var stores: [UInt64]

    static var blank: LevelBody { LevelBody(level: .first, stores: []) }
    static var schemaName: String { "SystemLevelRaise" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = Int64(level.number)
        // The bits of unsigned numbers.
        var bits = stores.map { Int64(bitPattern: $0) }
        try walker.required(1, "level", &number)
        try walker.repeated(2, "stores", &bits)
        guard W.isDecoding else { return }
        level = try FeatureLevel(stored: number)
        stores = bits.map { UInt64(bitPattern: $0) }
    }
}

extension FeatureLevel {
    /// - Parameter number: nil in what was written before there were levels.
    init(stored number: Int64?) throws(ChatError) {
        guard let number else {
            self = .first
            return
        }
        guard let exact = Int(exactly: number), exact >= FeatureLevel.first.number else {
            throw .wrongType("a feature level")
        }
        self = FeatureLevel(exact)
    }
}
