import ChatModel

/// The system group's whole state as of one log index, as it is kept on disk.
public struct SystemSnapshot: WireMessage, Hashable {
    /// The index up to which entries are applied.
    public var appliedIndex: UInt64 = 0
    public var clusterID = ""
    public var shardCount: Int64 = 0
    public var nodes: [NodeRecord] = []
    /// The last entry's stamp.
    public var time = Timestamp(0)
    /// Tokens of anybody issued at this time or before are refused.
    public var floor = Timestamp(0)
    /// Oldest first.
    public var revocations: [SystemRevocation] = []
    public var settings: [SystemSetting] = []
    /// Oldest first.
    public var calls: [SystemCall] = []
    /// Oldest first.
    public var nonces: [SystemCall] = []
    /// Oldest first.
    public var removed: [RemovedNode] = []
    /// The cluster's.
    public var level = FeatureLevel.first
    /// In the order of their users.
    public var banned: [SystemSanction] = []
    public var muted: [SystemSanction] = []
    /// The sanctions of which the app's webhook is not told yet, oldest first, and how many more there were.
    public var owedSanctions: [SanctionEvent] = []
    public var forgottenSanctions: Int64 = 0

    public static var blank: SystemSnapshot { SystemSnapshot() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "appliedIndex", &appliedIndex)
        try walker.required(2, "clusterId", &clusterID)
        try walker.required(3, "shardCount", &shardCount)
        try walker.list(4, "nodes", &nodes)
        try walker.shown(5, "time", &time)
        try walker.shown(6, "floor", &floor)
        try walker.list(7, "revocations", &revocations)
        try walker.list(8, "settings", &settings)
        try walker.list(9, "calls", &calls)
        try walker.list(10, "nonces", &nonces)
        try walker.list(11, "removed", &removed)
        var number = level == .first ? nil : Int64(level.number)
        try walker.optional(12, "featureLevel", &number)
        if W.isDecoding { level = try FeatureLevel(stored: number) }
        try walker.repeated(13, "banned", &banned)
        try walker.repeated(14, "muted", &muted)
        try walker.repeated(15, "owedSanctions", &owedSanctions)
        try walker.defaulted(16, "forgottenSanctions", &forgottenSanctions, default: 0)
    }
}

/// A user who is banned or muted in all rooms.
public struct SystemSanction: WireMessage, Hashable {
    public var user: UserID
    public var sanction: UserSanction

    public static var blank: SystemSanction { SystemSanction(user: .blank, sanction: UserSanction(since: .blank)) }

    public init(user: UserID, sanction: UserSanction) {
        self.user = user
        self.sanction = sanction
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "since", &sanction.since)
        try walker.optional(3, "endsAt", &sanction.endsAt)
        try walker.optional(4, "reason", &sanction.reason)
    }
}

/// A sanction that the app's webhook is owed.
public struct SanctionEvent: WireMessage, Hashable {
    /// The log entry.
    public var index: UInt64
    public var user: UserID
    public var kind: SanctionKind
    public var time: Timestamp
    /// nil: it was lifted.
    public var sanction: UserSanction?

    public static var blank: SanctionEvent { SanctionEvent(index: 0, user: .blank, kind: .blank, time: .blank) }

    public init(index: UInt64, user: UserID, kind: SanctionKind, time: Timestamp, sanction: UserSanction? = nil) {
        self.index = index
        self.user = user
        self.kind = kind
        self.time = time
        self.sanction = sanction
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var isLifted = sanction == nil
        var (endsAt, reason) = (sanction?.endsAt, sanction?.reason)
        try walker.shown(1, "index", &index)
        try walker.required(2, "user", &user)
        try walker.required(3, "kind", &kind)
        try walker.required(4, "time", &time)
        try walker.defaulted(5, "lifted", &isLifted, default: false)
        try walker.optional(6, "endsAt", &endsAt)
        try walker.optional(7, "reason", &reason)
        if W.isDecoding { sanction = isLifted ? nil : UserSanction(since: time, endsAt: endsAt, reason: reason) }
    }
}

/// A node with the store that it had when it was taken out of the cluster.
public struct RemovedNode: WireMessage, Hashable {
    public var node: NodeID
    public var store: UInt64
    /// Only this store is refused: it was replaced by another one, or the node may come again.
    public var isReadmitted = false
    /// The SHA-256 of the certificate that it proved itself with, where that is known.
    public var certificate: [UInt8]?

    public static var blank: RemovedNode { RemovedNode(node: .blank, store: 0) }
    public static var schemaName: String { "SystemRemovedNode" }

    public init(node: NodeID, store: UInt64) {
        self.node = node
        self.store = store
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        // The bits of an unsigned number.
        var bits = Int64(bitPattern: store)
        try walker.required(1, "node", &node)
        try walker.required(2, "store", &bits)
        try walker.defaulted(3, "readmitted", &isReadmitted, default: false)
        try walker.optional(4, "certificate", &certificate)
        if W.isDecoding { store = UInt64(bitPattern: bits) }
    }
}

/// A user whose tokens issued until then are refused.
public struct SystemRevocation: WireMessage, Hashable {
    public var user: UserID
    public var time: Timestamp

    public static var blank: SystemRevocation { SystemRevocation(user: .blank, time: .blank) }

    public init(user: UserID, time: Timestamp) {
        self.user = user
        self.time = time
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "time", &time)
    }
}

/// A setting of the whole cluster.
public struct SystemSetting: WireMessage, Hashable {
    public var name: String
    public var value: [UInt8]
    public var version: UInt64

    public static var blank: SystemSetting { SystemSetting(name: "", value: [], version: 0) }

    public init(name: String, value: [UInt8], version: UInt64) {
        self.name = name
        self.value = value
        self.version = version
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "name", &name)
        try walker.required(2, "value", &value)
        try walker.required(3, "version", &version)
    }
}

/// A call that carried an idempotency key, or a nonce.
public struct SystemCall: WireMessage, Hashable {
    public var key: String
    public var time: Timestamp
    /// Empty when there was nothing to tell, absent while it is not known how the call ended.
    public var answer: [UInt8]?
    /// For a revocation: its time.
    public var revokedAt: Timestamp?

    public static var blank: SystemCall { SystemCall(key: "", time: .blank, answer: nil) }

    public init(key: String, time: Timestamp, answer: [UInt8]?) {
        self.key = key
        self.time = time
        self.answer = answer
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "key", &key)
        try walker.required(2, "time", &time)
        try walker.optional(3, "answer", &answer)
        try walker.optional(4, "revokedAt", &revokedAt)
    }
}
