import ChatModel
import SQLite

/// Giving history to a replica that lacks some of it, and taking it there.
extension ShardStorage {
    // MARK: - Source

    /// The days that there are.
    ///
    /// - Parameter index: the asker's snapshot. Fails with `.refused` when this replica has not applied that far or
    ///   lacks history itself: then another one must be asked, or this one later.
    public func historyManifest(
        atLeast index: UInt64, completion: @escaping @Sendable (Result<HistoryManifest, StorageError>) -> Void
    ) {
        withReads(completion) { [self] writer, done in
            try writer.checkGivesHistory(atLeast: index)
            read(ManifestTask(files: writer.fileNames), done)
        }
    }

    /// The next rows of a day, in the order of the cursor, at most `bytesMax` bytes of them; one row that has more goes
    /// alone. A day that has expired meanwhile ends.
    ///
    /// - Parameters:
    ///   - cursor: behind the last row that the asker has; nil: from the day's beginning.
    ///   - changedAfter: `MissingHistory.knownIndex`.
    ///   - notAfter: as of which entry rows are wanted; nil: as they are.
    ///   - index: as in `historyManifest`.
    public func historyChunk(
        day: Int64, after cursor: HistoryCursor?, changedAfter: UInt64, notAfter: UInt64? = nil,
        atLeast index: UInt64, bytesMax: Int,
        completion: @escaping @Sendable (Result<HistoryChunk, StorageError>) -> Void
    ) {
        withReads(completion) { [self] writer, done in
            try writer.checkGivesHistory(atLeast: index)
            guard let file = HistoryFile(number: day) else {
                throw StorageError(.malformed, "there is no history file \(day)")
            }
            read(
                HistoryChunkTask(
                    file, after: cursor, changedAfter: changedAfter, notAfter: notAfter,
                    cutoff: configuration.cutoffs().of(file.life),
                    bytesMax: max(1, bytesMax), isAmended: configuration.isAmended),
                done)
        }
    }

    // MARK: - Target

    /// Whether all of the shard's history that has not expired is here, durably. A replica without it is not promoted,
    /// does not lead and gives no history to others.
    public var isHistoryComplete: Bool { missingHistory == nil }

    /// The missing part of the shard's history; nil: nothing is missing. As far as it has come since the last
    /// checkpoint, too, so after a restart it may name a little more again.
    public var missingHistory: MissingHistory? { state.withLock { $0.missing } }

    /// Notes which days there are to get, from a source's manifest. Completes with what is missing then; fails with
    /// `.refused` when another snapshot was installed since.
    public func planBackfill(
        _ manifest: HistoryManifest, snapshotIndex: UInt64,
        completion: @escaping @Sendable (Result<MissingHistory?, StorageError>) -> Void
    ) {
        withWriter(completion) { writer, worker in
            try writer.planBackfill(manifest, snapshotIndex: snapshotIndex, on: worker.thread)
        }
    }

    /// Takes rows that a source gave. Completes when they are in the files and the day's cursor has moved; a restart
    /// goes on from the last checkpoint. When it was the last chunk of the last day, `isHistoryComplete` becomes true
    /// as soon as that is durable.
    ///
    /// Fails with `.malformed` for bytes that are no history rows and `.refused` when they were asked for because of
    /// another snapshot or do not begin where the day ended; then nothing has changed. Other failures may be tried again
    /// with the same chunk.
    public func backfill(
        _ chunk: HistoryChunk, snapshotIndex: UInt64,
        completion: @escaping @Sendable (Result<MissingHistory?, StorageError>) -> Void
    ) {
        withWriter(completion) { writer, worker in
            try writer.backfill(chunk, snapshotIndex: snapshotIndex, on: worker.thread)
        }
    }
}
