/// How a database file is opened.
public struct DatabaseOptions: Sendable, Hashable {
    /// When the operating system is asked to bring writes to the disk (`PRAGMA synchronous`).
    public enum Synchronous: String, Sendable, Hashable, CaseIterable {
        /// At every commit: what is committed survives a power cut.
        case full = "FULL"
        /// At checkpoints only: a power cut may lose the newest commits, never the order of commits.
        case normal = "NORMAL"
    }

    /// Opens for reading only. Otherwise for reading and writing.
    public var readOnly = false
    /// Makes the file when it is missing; not together with `readOnly`.
    public var create = false
    /// Nobody else may open the file; the write-ahead log's index then is in ordinary memory.
    public var exclusive = false
    /// Uses a write-ahead log. A reader finds the mode in the file and leaves it alone.
    public var writeAheadLog = true
    public var synchronous = Synchronous.full
    /// Pages in the write-ahead log after which a commit also checkpoints; 0: only `checkpoint(_:)` does. Not more than
    /// one connection to a file may checkpoint (SQLite before 3.51.3 can corrupt the file otherwise).
    public var checkpointPages: Int32 = 0
    /// Closing does not checkpoint; for every connection that is not the file's writer, and for a writer that decides
    /// itself.
    public var leavesWriteAheadLogOnClose = false
    public var busyTimeoutMilliseconds: Int32 = 0
    /// Upper bound of the page cache.
    public var cacheKilobytes: Int32 = 256
    /// Overwrites what is deleted with zeros.
    public var secureDelete = false
    /// The name of a registered SQLite VFS; nil is the default one.
    public var vfs: String?

    public init() {}
}
