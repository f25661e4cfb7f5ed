/// A message of before, from elsewhere, as it is to stand in history (PROTOCOL.md, "Import").
public struct ImportedMessage: Sendable, Hashable {
    public var time: Timestamp
    /// As it was shown then. Absent: the system.
    public var from: Sender?
    public var body: MessageBody
    public var priority = Priority.normal
    public var mentions: [UserID] = []
    public var mentionAll = false
    public var ext: String?
    public var clientID: String?
    /// The hash of sender and `clientID`, under which the room may know it already; nil where one of them is absent.
    public var key: CommandKey?

    public init(time: Timestamp, from: Sender?, body: MessageBody) {
        self.time = time
        self.from = from
        self.body = body
    }
}

/// The newest kept message of a room, as the leader knows it: no time falls while seqs grow, so older ones cannot be
/// put behind it.
public struct NewestMessage: Sendable, Hashable {
    public var seq: UInt64
    /// nil: it has expired, and is older than whatever can be imported.
    public var time: Timestamp?

    public init(seq: UInt64, time: Timestamp?) {
        self.seq = seq
        self.time = time
    }
}

/// The answer to an import.
public struct ImportResult: Sendable, Hashable {
    public var imported: Int64
    /// Those that have expired, or that the room has already.
    public var skipped: Int64
    /// The room's newest seq.
    public var seq: UInt64

    public init(imported: Int64, skipped: Int64, seq: UInt64) {
        self.imported = imported
        self.skipped = skipped
        self.seq = seq
    }
}
