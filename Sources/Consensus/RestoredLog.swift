import ChatModel

/// A stretch of the log in one term, up to where the next one begins.
public struct TermRun: Hashable, Sendable {
    /// The first entry of the term.
    public var firstIndex: UInt64
    /// The term of that entry and the following ones.
    public var term: UInt64

    public init(firstIndex: UInt64, term: UInt64) {
        self.firstIndex = firstIndex
        self.term = term
    }
}

/// The log that the store hands back at start. It is given the log once, in order (`append`), and keeps of it the
/// terms, the memberships and a tail of `recentBytesMax`.
public struct RestoredLog: Hashable, Sendable {
    /// Term and vote.
    public var hardState: HardState
    /// The newest snapshot; `nil` only for a server that has joined and not heard from a leader yet.
    public var snapshot: SnapshotMark?
    /// How far the host's own state is durable; entries after it come out of the core again. At least what was
    /// compacted, at most what was committed.
    public var appliedIndex: UInt64
    /// Bytes of entries kept for the core's window.
    public var recentBytesMax: Int

    /// The first entry in the store; 0 when there is none.
    public private(set) var firstIndex: UInt64 = 0
    /// The last entry in the store; 0 when there is none.
    public private(set) var lastIndex: UInt64 = 0
    /// Where each term begins, ascending.
    public private(set) var terms: [TermRun] = []
    /// Every membership entry of the log.
    public private(set) var memberships: [Entry] = []
    private var ring = RecentEntries()
    /// An entry came out of order.
    public private(set) var isContradictory = false

    public init(
        hardState: HardState = HardState(), snapshot: SnapshotMark? = nil, appliedIndex: UInt64 = 0,
        recentBytesMax: Int = 16 << 20
    ) {
        self.hardState = hardState
        self.snapshot = snapshot
        self.appliedIndex = appliedIndex
        self.recentBytesMax = recentBytesMax
    }

    /// The next entry of the log, oldest first.
    public mutating func append(_ entry: Entry) {
        if firstIndex == 0 {
            firstIndex = entry.index
            isContradictory = isContradictory || entry.index == 0
        } else if entry.index != lastIndex &+ 1 || entry.term < (terms.last?.term ?? 0) {
            isContradictory = true
        }
        lastIndex = entry.index
        if terms.last?.term != entry.term { terms.append(TermRun(firstIndex: entry.index, term: entry.term)) }
        if entry.kind == .membership { memberships.append(entry) }
        ring.append(entry, bytesMax: recentBytesMax)
    }

    /// The next entries of the log, of one term, which are on disk and not at hand; none of them is a membership.
    public mutating func append(_ range: ClosedRange<UInt64>, term: UInt64) {
        append(Entry(index: range.lowerBound, term: term, kind: .command, payload: []))
        lastIndex = range.upperBound
        // The kept entries must reach to the end.
        ring = RecentEntries()
    }

    /// The tail that is kept, ending at `lastIndex`.
    public var recentEntries: [Entry] { ring.entries }
}

/// The last entries up to a number of bytes.
private struct RecentEntries: Hashable, Sendable {
    private var stored = Fifo<Entry>()
    private var bytes = 0

    var entries: [Entry] { Array(stored) }

    mutating func append(_ entry: Entry, bytesMax: Int) {
        stored.append(entry)
        bytes += RaftLog.bytes(of: entry)
        while bytes > bytesMax, let oldest = stored.popFirst() { bytes -= RaftLog.bytes(of: oldest) }
    }
}
