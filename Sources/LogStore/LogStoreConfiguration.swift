import SQLite

/// Settings of a `LogStore`.
public struct LogStoreConfiguration: Sendable {
    /// The data directory of the log. It is made when `create` is set.
    public var directory: String
    /// Makes a new, empty log. This is an explicit act, because a server with an empty log is a different server; where
    /// a log exists it is refused.
    public var create = false
    /// Whether a new log is written to segments from the start (version 3), or to the table (version 2) until
    /// `LogStore.useSegments` is called. A log that is there says itself which it is.
    public var makesSegments = true
    /// The size of a segment: so much is written to a file before the next one is begun.
    public var segmentBytes = 8 << 20
    /// Bytes of the newest segments that stay in memory from the opening until the start is over; older ones are read from
    /// their files.
    public var openedBytesMax = 128 << 20
    /// Payload bytes of the newest entries of a group that `restored` returns.
    public var recentBytesPerGroup = 16 << 20
    /// Bytes of saves that may wait for the writer. Beyond it, saves fail with `.overloaded`.
    public var waitingBytesMax = 64 << 20
    /// Bytes that go into one transaction; what waits beyond that goes into the next one, so that one large backlog
    /// does not delay its first save by the time of the whole.
    public var transactionBytesMax = 4 << 20
    /// Reads of older entries that may wait. Beyond it, reads fail with `.overloaded`.
    public var waitingReadsMax = 256
    /// Pages (4 KiB) of the write-ahead log of version 2 after which it is checkpointed: 4,000 measured best.
    public var checkpointPages = 4_000
    /// The least time between two writes of the marks. See ARCHITECTURE.md, "Log".
    public var marksInterval = Duration.seconds(1)
    /// After so long a probe finds out whether the disk has space for more, whatever is being written.
    public var probeInterval = Duration.seconds(3)
    /// After so long a turn of the writer that has not ended counts as a failure of the disk, until it ends.
    public var hangLimit = Duration.seconds(5)
    /// Added to every sync, to measure how the system behaves on slower disks.
    public var syncDelayMicroseconds: UInt32 = 0
    /// The name of a registered SQLite VFS; nil is the operating system's files.
    public var vfs: String?
    /// The writer of the files beside the database, the marks above all.
    public var files: any FileSteps = SystemFiles()
    /// After every sync, on the writer thread: how long the commit took and how many entries it made durable.
    public var onSync: @Sendable (_ duration: Duration, _ entries: Int) -> Void = { _, _ in }

    public init(directory: String) { self.directory = directory }
}
