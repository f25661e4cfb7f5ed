import ChatModel

/// Which messages of a room to read (PROTOCOL.md, "History").
public struct HistoryQuery: Sendable, Hashable {
    public enum Order: Sendable, Hashable, CaseIterable {
        /// At or after `startTime`, oldest first.
        case ascending
        /// At or before `startTime`, newest first.
        case descending
    }

    public var incarnation: Incarnation
    public var order: Order
    /// Nil: from the newest or the oldest there is.
    public var startTime: Timestamp?
    /// The oldest time that the room shows; nil: as long as its messages are kept.
    public var visibleSince: Timestamp?
    /// Only messages before this seq.
    public var beforeSeq: UInt64?
    /// Only messages after this seq.
    public var afterSeq: UInt64?
    /// Only messages of these types; nil: of all.
    public var types: Set<Int>?
    /// Only messages of this sender.
    public var sender: String?
    /// 1-100; other numbers are brought to the nearest of these.
    public var limit: Int
    /// The rows come without their messages, which then count nothing.
    public var withoutPayload = false

    public init(incarnation: Incarnation, order: Order = .descending, limit: Int = Int(Limits.pageItemsDefault)) {
        self.incarnation = incarnation
        self.order = order
        self.limit = limit
    }
}

/// A page of history.
public struct StoredPage: Sendable, Hashable {
    /// In the order asked for.
    public var rows: [HistoryRow]
    /// There is at least one row beyond the last one. A page ends before `limit` when the next message would be too
    /// much for one reply (`Limits.pageBytes`); it has one at least.
    public var more: Bool
}

/// Everything that a room needs to be active.
public struct LoadedRoom: Sendable, Hashable {
    /// All catalogue rows; none: the room does not exist.
    public var catalogue: [CatalogueRow]
    /// The newest history rows in seq order. After a restart they may reach beyond what the catalogue says.
    public var tail: [HistoryRow]
    /// The commands behind the messages of the last ten minutes before the newest one that the catalogue knows, and
    /// those behind later ones; newest first. Also of messages whose rows are missing.
    public var commands: [RememberedCommand]
}

/// Which message a command made.
public struct RememberedCommand: Sendable, Hashable {
    public var key: CommandKey
    public var seq: UInt64
    public var time: Timestamp
}

/// A room with something due.
public struct DueDeadline: Sendable, Hashable {
    public var room: RoomID
    public var deadline: Timestamp
}
