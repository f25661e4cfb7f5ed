import Consensus

/// Everything that one group wants made durable at once: all of it or nothing.
///
/// The parts take effect in the order in which they stand here.
public struct GroupSave: Sendable, Hashable {
    public var group: GroupID
    public var hardState: HardState?
    /// A snapshot that the state machine has. When the log does not hold the entry at its end, the whole log is
    /// replaced by it, otherwise entries stay (thesis §5.3, figure 5.3 step 6).
    public var snapshot: SnapshotMark?
    /// Removes the entries at and above this index, because the leader's differ (thesis §3.5). Not more than one after
    /// the last entry, and above what was trimmed.
    public var truncateFrom: UInt64?
    /// The first one follows the last one in the log.
    public var entries: [Entry]

    public init(
        group: GroupID, hardState: HardState? = nil, snapshot: SnapshotMark? = nil, truncateFrom: UInt64? = nil,
        entries: [Entry] = []
    ) {
        self.group = group
        self.hardState = hardState
        self.snapshot = snapshot
        self.truncateFrom = truncateFrom
        self.entries = entries
    }

    /// Roughly what it occupies while it waits.
    var bytes: Int {
        entries.reduce(128) { $0 + 64 + $1.payload.count }
    }
}
