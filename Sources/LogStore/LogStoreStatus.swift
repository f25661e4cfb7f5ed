/// Figures of a `LogStore` for metrics and health.
public struct LogStoreStatus: Sendable, Hashable {
    /// Transactions that were made durable.
    public internal(set) var syncs: UInt64 = 0
    /// Entries that were made durable.
    public internal(set) var entries: UInt64 = 0
    /// How long the last transaction took from its begin to the end of its sync.
    public internal(set) var lastSyncDuration = Duration.zero
    /// Bytes of saves that wait for the writer.
    public internal(set) var waitingBytes = 0
    /// Trimmed entries whose space has not been freed yet.
    public internal(set) var uselessEntries = 0
    /// Why the disk does not take everything: the last transaction, probe or checkpoint failed. nil when all of them were
    /// good.
    public internal(set) var failure: LogStoreError?
    /// Writes of the marks that failed.
    public internal(set) var marksFailures: UInt64 = 0
    /// Why the last of them failed; nil after a good one. The file then tells less than it could of what the log held.
    public internal(set) var marksFailure: LogStoreError?

    public init() {}
}
