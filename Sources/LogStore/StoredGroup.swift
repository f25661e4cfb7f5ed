import Consensus

/// The state of a group on disk.
public struct StoredGroup: Sendable, Hashable {
    public var hardState: HardState
    public var snapshot: SnapshotMark?
    /// The last entry that was trimmed: (0, 0) when none was.
    public var trimmed: LogPosition
    /// The index of the oldest entry that is there or would be: `trimmed.index + 1`.
    public var firstIndex: UInt64
    /// The index of the newest entry; `firstIndex - 1` when the log is empty.
    public var lastIndex: UInt64
    /// The terms of all entries from `firstIndex` to `lastIndex`.
    public var terms: TermRuns
    /// The entries before `recent` that change the group's servers, in log order.
    public var memberships: [Entry]
    /// The newest entries in log order, bounded by `LogStoreConfiguration.recentBytesPerGroup`.
    public var recent: [Entry]
}

/// A place in a log.
public struct LogPosition: Sendable, Hashable {
    public var index: UInt64
    public var term: UInt64

    public init(index: UInt64 = 0, term: UInt64 = 0) {
        self.index = index
        self.term = term
    }
}
