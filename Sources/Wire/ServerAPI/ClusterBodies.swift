import ChatModel

/// Body of POST /v1/cluster/shards/{shard}/transfer.
public struct TransferBody: WireMessage, Hashable {
    /// The node that is to lead the shard.
    public var to: NodeID

    public static var blank: TransferBody { TransferBody(to: .blank) }

    public init(to: NodeID) { self.to = to }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "to", &to)
    }
}

/// Body and answer of PUT /v1/cluster/featureLevel.
public struct LevelSettings: WireMessage, Hashable {
    public var level: Int64

    public static var blank: LevelSettings { LevelSettings(level: 1) }
    public static var schemaName: String { "FeatureLevelSettings" }

    public init(level: Int64) { self.level = level }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "level", &level, .integers(1, 1_000_000))
    }
}

/// Answer of POST /v1/backup: where the copies are.
public struct BackupView: WireMessage, Hashable {
    /// As of when.
    public var time: Timestamp
    public var copies: [BackupCopy]

    public static var blank: BackupView { BackupView(time: .blank, copies: []) }
    public static var schemaName: String { "Backup" }

    public init(time: Timestamp, copies: [BackupCopy]) {
        self.time = time
        self.copies = copies
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "time", &time)
        try walker.list(2, "copies", &copies)
    }
}

/// The copy of one node.
public struct BackupCopy: WireMessage, Hashable {
    public var node: NodeID
    /// On that node.
    public var directory: String
    public var bytes: Int64

    public static var blank: BackupCopy { BackupCopy(node: .blank, directory: "", bytes: 0) }

    public init(node: NodeID, directory: String, bytes: Int64) {
        self.node = node
        self.directory = directory
        self.bytes = bytes
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.required(2, "directory", &directory)
        try walker.shown(3, "bytes", &bytes)
    }
}
