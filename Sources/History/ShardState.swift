/// What a shard's callers and its storage thread share, behind one lock.
struct ShardState: Sendable {
    /// Batches that the storage thread has not taken yet.
    var incoming: [StorageBatch] = []
    /// Bytes of batches that are not in their files yet, taken or not.
    var pendingBytes = 0
    var isFlushScheduled = false
    /// Of those that wait or are under way.
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
    /// Set for good.
    var halt: StorageError?
    var isOverloaded = false

    var health: StorageHealth {
        if let halt { return .halted(halt) }
        if isOverloaded { return .overloaded }
        return failure.map { .retrying($0) } ?? .good
    }

    /// To be called after `pendingBytes` has changed.
    mutating func updateOverload(bytesMax: Int) {
        if pendingBytes > bytesMax { isOverloaded = true }
        // Half, so that a host at the bound is not told to stop and go on with every batch.
        if pendingBytes <= bytesMax / 2 { isOverloaded = false }
    }
}
