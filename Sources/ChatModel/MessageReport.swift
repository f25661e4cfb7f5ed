/// A member's report of a kept message (PROTOCOL.md, "Reports").
public struct MessageReport: Sendable, Hashable {
    /// The log entry that brought it: its name within the shard, and its place in the room's list.
    public var index: UInt64
    public var messageID: String
    /// The message's.
    public var seq: UInt64
    /// The message's sender as shown then; absent: the system.
    public var from: UserName?
    /// The beginning of what the message said when it was reported; absent where it says nothing, and when the message has been
    /// recalled or has expired.
    public var excerpt: String?
    public var reporter: UserName
    public var reason: String?
    public var time: Timestamp
    /// When the message expires, and the excerpt with it. Not shown.
    public var keptUntil: Timestamp
    /// The room's last seq when it came: its place among what the webhook is owed. Not shown.
    public var after: UInt64

    public init(
        index: UInt64, messageID: String, seq: UInt64, from: UserName?, excerpt: String? = nil, reporter: UserName,
        reason: String? = nil, time: Timestamp, keptUntil: Timestamp, after: UInt64
    ) {
        self.index = index
        self.messageID = messageID
        self.seq = seq
        self.from = from
        self.excerpt = excerpt
        self.reporter = reporter
        self.reason = reason
        self.time = time
        self.keptUntil = keptUntil
        self.after = after
    }

    /// Its name in the list, and the cursor that begins behind it.
    public var id: String { Self.id(index) }

    public static func id(_ index: UInt64) -> String { String(index, radix: 36) }

    /// nil for what names no report.
    public static func index(_ id: String) -> UInt64? {
        guard let index = UInt64(id, radix: 36), Self.id(index) == id else { return nil }
        return index
    }

    /// When something of it ends; nil when nothing does.
    public var deadline: Timestamp? { excerpt == nil ? nil : keptUntil }

    /// The same as it is shown at that time: what has expired says nothing any more.
    public func shown(at now: Timestamp) -> MessageReport {
        guard excerpt != nil, keptUntil <= now else { return self }
        var shown = self
        shown.excerpt = nil
        return shown
    }
}
