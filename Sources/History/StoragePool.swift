import Synchronization

/// The threads on which all shards of a node do their storage work. A shard writes on one of them, always the same,
/// and reads history on another, so that long reads do not delay writes.
public final class StoragePool: Sendable {
    private let writers: [StorageThread]
    private let readers: [StorageThread]
    /// Makes indexes, for all shards.
    let indexer: StorageThread
    private let numbers = Atomic<UInt64>(0)

    /// At least one thread of each kind.
    public init(writers: Int = 2, readers: Int = 2) {
        // Rows are written when their messages have long been acked and shown: beside them, loops and the log's writer come
        // first. Measured: docs/BENCHMARKS.md, "Three nodes".
        self.writers = (0..<max(1, writers)).map { StorageThread("store-write-\($0)", isInBackground: true) }
        self.readers = (0..<max(1, readers)).map { StorageThread("store-read-\($0)") }
        indexer = StorageThread("store-index", isInBackground: true)
    }

    func writer(of shard: UInt16) -> StorageThread { writers[Int(shard) % writers.count] }

    func reader(of shard: UInt16) -> StorageThread { readers[Int(shard) % readers.count] }

    /// A number that no other storage of this pool has: two of them may be for the same shard in tests.
    func nextNumber() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    /// Ends the threads. The shards must have been closed. Blocks.
    public func close() {
        // It waits for readers, and nobody waits for it.
        for thread in [indexer] + writers + readers { thread.stop() }
    }
}
