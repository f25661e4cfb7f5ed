/// A shard's catalogue as of one log entry, while others go on writing: a stream of bytes that
/// `ShardStorage.installSnapshot` takes at another node.
///
/// It holds up the catalogue's write-ahead log, and with it the trimming of the shard's log; so it ends by itself after
/// `StorageConfiguration.snapshotDurationMax`, and when this object goes.
public final class SnapshotReader: Sendable {
    /// The log entry as of which the rows exactly are.
    public let index: UInt64
    private let number: UInt64
    private let thread: StorageThread

    init(_ number: UInt64, index: UInt64, thread: StorageThread) {
        self.number = number
        self.index = index
        self.thread = thread
    }

    deinit { close() }

    /// The next bytes of the stream, `bytesMax` of them unless it ends before; empty behind the end. One call at a time;
    /// rows may be cut anywhere.
    ///
    /// Completes on a storage thread; with `.expired` when the snapshot has been closed, by its time or by the storage.
    public func next(bytesMax: Int, completion: @escaping @Sendable (Result<[UInt8], StorageError>) -> Void) {
        SnapshotReader.read(number, on: thread, bytesMax: max(1, bytesMax), completion)
    }

    /// A slice at a time, with other reads in between.
    private static func read(
        _ number: UInt64, on thread: StorageThread, bytesMax: Int,
        _ completion: @escaping @Sendable (Result<[UInt8], StorageError>) -> Void
    ) {
        let isAsked = thread.submit { worker in
            guard let reader = worker.snapshots[number] else {
                completion(.failure(StorageError(.expired, "the snapshot has been closed")))
                return
            }
            do {
                if let bytes = try reader.slice(bytesMax: bytesMax) {
                    completion(.success(bytes))
                } else {
                    SnapshotReader.read(number, on: thread, bytesMax: bytesMax, completion)
                }
            } catch {
                // Another try would not go on where this one ended.
                worker.snapshots.removeValue(forKey: number)?.close()
                completion(.failure(StorageError(any: error)))
            }
        }
        if !isAsked { completion(.failure(StorageError(.closed, "the storage threads have ended"))) }
    }

    /// Lets go of the catalogue. Later calls of `next` fail.
    public func close() {
        thread.submit { [number] worker in worker.snapshots.removeValue(forKey: number)?.close() }
    }
}
