import ChatModel

/// Which days of history a shard has.
public struct HistoryManifest: Sendable, Hashable {
    public struct Day: Sendable, Hashable {
        /// A file (`HistoryFile.number`): for the standard life the day, counted from 1970-01-01, UTC.
        public var day: Int64
        /// No log entry after this one has changed anything in the day.
        public var lastIndex: UInt64

        public init(day: Int64, lastIndex: UInt64) {
            self.day = day
            self.lastIndex = lastIndex
        }
    }

    /// Oldest first, at most `Limits.historyFilesPerShard`.
    public var days: [Day]

    public init(days: [Day]) { self.days = days }
}

/// Rows of one day, in the order of the day's cursor.
public struct HistoryChunk: Sendable, Hashable {
    public var day: Int64
    /// Where it begins; nil: at the day's beginning.
    public var after: HistoryCursor?
    /// Rows for `ShardStorage.backfill`; empty when there was nothing to tell.
    public var bytes: [UInt8]
    /// Where the next chunk begins; nil: this was the day's last.
    public var next: HistoryCursor?

    public init(day: Int64, after: HistoryCursor?, bytes: [UInt8], next: HistoryCursor?) {
        self.day = day
        self.after = after
        self.bytes = bytes
        self.next = next
    }
}
