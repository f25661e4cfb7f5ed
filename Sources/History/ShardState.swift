/// The state that a shard's callers and its storage thread share, behind one lock.
struct ShardState: Sendable {
    /// Batches that the storage thread has not taken yet.
    var incoming: [StorageBatch] = []
    /// Bytes of batches that are not in their files yet, taken or not.
    var pendingBytes = 0
    /// When the first of them has waited long enough.
    var lingersUntil = ContinuousClock.now
    /// A timer of the storage thread looks at them then. One at a time: whatever has them written before leaves it, and it
    /// looks again later if others have come since.
    var isTimerSet = false
    /// The storage thread has a job to write them now: there is much to write.
    var isFlushUrgent = false
    /// Counts of reads that wait or are under way.
    var reads = ReadCounts()
    var isClosed = false

    var appliedIndex: UInt64 = 0
    var writtenIndex: UInt64 = 0
    var syncedIndex: UInt64 = 0

    /// How many connections read an older state of the catalogue.
    var snapshots = 0
    /// See `ShardStorage.missingHistory`.
    var missing: MissingHistory?
    /// See `ShardStorage.installedMark`.
    var installedMark: [UInt8]?

    /// The last attempt to write failed.
    var failure: StorageError?
    /// The last attempt to bring what was written to stable storage failed. Apart from `failure`, because write-ahead logs
    /// take rows on a full disk, too, as long as they write over their own bytes: that shows nothing for a checkpoint.
    var checkpointFailure: StorageError?
    /// Set for good.
    var halt: StorageError?
    var isOverloaded = false

    var health: StorageHealth {
        if let halt { return .halted(halt) }
        if isOverloaded { return .overloaded }
        return (failure ?? checkpointFailure).map { .retrying($0) } ?? .good
    }

    /// See `ShardStorage.diskFailure`.
    var diskFailure: StorageError? {
        halt ?? [failure, checkpointFailure].compactMap { $0 }.first { $0.code != .busy }
    }

    /// To be called after `pendingBytes` has changed.
    mutating func updateOverload(bytesMax: Int) {
        if pendingBytes > bytesMax { isOverloaded = true }
        // Half, so that a host at the bound is not told to stop and go on with every batch.
        if pendingBytes <= bytesMax / 2 { isOverloaded = false }
    }
}
