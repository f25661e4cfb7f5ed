import ChatModel

/// Settings of the indexes in which messages are looked for.
public struct SearchConfiguration: Sendable {
    /// The text of a payload that search finds; empty: none. Called on threads of the storage.
    public var text: @Sendable (_ payload: [UInt8]) -> String
    /// Whether a file is indexed as its rows come. Else its index begins with the first search that has more than `unindexedMax`
    /// messages of a room to look at there: an app that searches nothing pays nothing for it.
    public var isAhead = false
    /// Messages of a room in one file that searches look at one by one.
    public var unindexedMax = 1_000
    /// How long one search may work; then its page ends, with a place to go on from.
    public var sliceMax = Duration.milliseconds(50)
    /// How long it works at a time, before other readers have their turn.
    public var turnMax = Duration.milliseconds(8)
    /// Rows of a block: a part of a day's index that is looked into, and cleaned, in one step. Long ones count as several.
    public var blockRows: Int64 = 32_768
    /// Places that a word may have in a block: a step of FTS5 looks at all of them before it gives the first message, without
    /// a look at the clock. Wider words are not asked for there.
    public var placesMax: Int64 = 20_000
    /// How long changes wait to be indexed together. Searches look at those themselves.
    public var linger = Duration.seconds(5)
    /// Changed rows of a file at which they wait no longer: about as many as go into the index with one transaction.
    public var lingerRowsMax = 1_000
    /// How long a block with a recalled message waits for others to be cleaned with it.
    public var scrubDelay = Duration.seconds(5)
    /// Changed rows of one file that may wait. Beyond it the file is compared with its index from the beginning.
    public var pendingMax = 200_000
    /// How long an index that could not be read or written is left alone.
    public var retryDelay = Duration.seconds(5)
    /// The clock of `sliceMax` and `turnMax`.
    public var now: @Sendable () -> ContinuousClock.Instant = { .now }

    public init(text: @escaping @Sendable (_ payload: [UInt8]) -> String) { self.text = text }
}

/// Messages to look for in a room (PROTOCOL.md, "Search").
public struct SearchQuery: Sendable, Hashable {
    public var incarnation: Incarnation
    public var pattern: SearchPattern
    /// The oldest time that the room shows; nil: as long as its messages are kept.
    public var visibleSince: Timestamp?
    /// Only messages of this sender.
    public var sender: String?
    /// Only messages of these types; nil: of all.
    public var types: Set<Int>?
    /// Only messages at or after this time.
    public var startTime: Timestamp?
    /// Only messages at or before this time.
    public var endTime: Timestamp?
    /// 1-100; other numbers are brought to the nearest of these.
    public var limit = Int(Limits.pageItemsDefault)
    /// The `next` of the page before.
    public var after: SearchCursor?

    public init(incarnation: Incarnation, pattern: SearchPattern) {
        self.incarnation = incarnation
        self.pattern = pattern
    }
}

/// A page of what was found.
public struct SearchPage: Sendable, Hashable {
    /// Newest first.
    public var rows: [HistoryRow]
    /// The place of what is still to be looked at; nil: nothing is.
    public var next: SearchCursor?
}
