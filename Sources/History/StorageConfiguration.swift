import ChatModel

/// Settings of a `ShardStorage`.
public struct StorageConfiguration: Sendable {
    /// The wall clock, for retention only.
    public var now: @Sendable () -> Timestamp
    /// Whether rows may go by that clock: those that a wrong one has removed can't be had back. Asked on the writer's thread.
    public var removesExpired: @Sendable () -> Bool = { true }
    /// Rows older than that many days are never returned, of rooms without a life of their own (PROTOCOL.md, "History").
    public var retentionDays: Int64 = 10
    /// Rows of a room's end that `loadRoom` returns.
    public var hotTailRows = Limits.hotTailMessages
    /// How far back `loadRoom` returns command keys (PROTOCOL.md, "Retry").
    public var commandMemorySeconds = Limits.commandMemorySeconds
    /// How long rows may wait for others to share a transaction, of which each shard has its own. Reads do not wait for
    /// it, and nobody else does: the log has what was acked.
    public var linger = Duration.seconds(2)
    /// Bytes of waiting rows at which they wait no longer.
    public var lingerBytesMax = 256 << 10
    /// Bytes that may wait to be written. At the bound the health is `.overloaded`; at twice the bound it is `.halted`.
    public var pendingBytesMax = 32 << 20
    /// Bytes of catalogue rows kept in memory between checkpoints. At the bound one begins by itself.
    public var catalogueBytesMax = 8 << 20
    /// Pages (4 KiB) of a day's write-ahead log, and of payloads beside it, at which a checkpoint begins by itself.
    public var checkpointPages = 4_000
    /// Entries of the log since the last checkpoint at which one begins by itself: a start applies them again, which takes
    /// some 40 ms.
    public var checkpointEntries: UInt64 = 4_096
    /// Bytes of batches that go into one transaction.
    public var transactionBytesMax = 4 << 20
    /// Rows of one room that are written together and share a row of the file then (`BlockTable`), at least.
    public var blockRowsMin = 8
    /// Bytes of payloads up to which those of a block are in its row. Longer ones are in the file beside the database (`PayloadFile`):
    /// there they are written once, but a file more is synced.
    public var inlinePayloadsMax = 1 << 10
    /// Reads of sessions that may wait, and as many others. Beyond it they fail with `.overloaded`.
    public var waitingReadsMax = 1_024
    /// The most of these that belong to the sessions in one room. Beyond it they fail with `.overloaded`.
    public var waitingReadsOfRoomMax = 256
    /// The most of these that belong to one session: as many as it may ask in a second (PROTOCOL.md, "Rates"). Beyond
    /// it they fail with `.tooOften`.
    public var waitingReadsOfReaderMax = 20
    /// Rooms that may wait to be loaded, other reads included. More than rooms may be loading at a time: after a
    /// failover all rooms with viewers are, and one that is refused has viewers who are told nothing.
    public var waitingLoadsMax = 16_384
    /// Messages of a run whose types are remembered once they have been looked for in vain (`TypeRuns`).
    public var typeRunRows = 1_024
    /// Snapshots of one shard that may be open.
    public var snapshotsMax = 2
    /// How long a snapshot may be open: meanwhile the shard's log is not trimmed. Then it is closed, and reading it
    /// fails.
    public var snapshotDurationMax = Duration.seconds(600)
    /// The rest of a payload when its message is recalled and the erasure brings no replacement. Must give the same for
    /// the same bytes.
    public var erased: @Sendable (_ payload: [UInt8]) -> [UInt8] = { _ in [] }
    /// Whether a payload is that of a message which was amended.
    public var isAmended: @Sendable (_ payload: [UInt8]) -> Bool = { _ in false }
    /// How much of a page (`Limits.pageBytes`) a payload takes. Called on reader threads.
    public var shownBytes: @Sendable (_ payload: [UInt8]) -> Int = { $0.count }
    /// The seq of the message of the same room that a payload quotes; nil: none. Called on reader threads.
    public var quotedSeq: @Sendable (_ payload: [UInt8]) -> UInt64? = { _ in nil }
    /// The payload without what it quotes, once that is recalled or gone. Called on reader threads.
    public var withoutQuote: @Sendable (_ payload: [UInt8]) -> [UInt8] = { $0 }
    /// Nil: messages can't be looked for, and there are no indexes.
    public var search: SearchConfiguration?
    /// Called on a storage thread whenever the health has changed.
    public var onHealthChange: @Sendable (StorageHealth) -> Void = { _ in }
    /// Added to every checkpoint of a file, to measure how the system behaves on slower disks.
    public var syncDelayMicroseconds: UInt32 = 0
    /// From when on a room shows messages, by its catalogue row (`CatalogueRow.isOfLife`); nil: as long as they are kept.
    /// Called on storage threads.
    public var visibleSince: @Sendable (_ life: CatalogueRow, _ now: Timestamp) -> Timestamp? = { _, _ in nil }
    /// The cluster's feature level at the start: files are of the formats that it brings, or that a later one does (`ShardStorage.use`).
    public var level = FeatureLevel.newest
    /// The name of a registered SQLite VFS; nil is the operating system's files.
    public var vfs: String?

    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// The times before which rows need not be kept: none goes while it is not known whether the clock is right.
    func removalCutoffs() -> HistoryCutoffs {
        removesExpired() ? cutoffs() : HistoryCutoffs(Timestamp(0), standardDays: 0)
    }

    /// The oldest times that are visible now: a message is, while its age is not more than its life.
    func cutoffs(room: Timestamp? = nil) -> HistoryCutoffs {
        HistoryCutoffs(now(), standardDays: retentionDays, room: room)
    }
}
