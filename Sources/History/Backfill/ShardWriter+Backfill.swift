import ChatModel
import SQLite

/// Filling up history that an installed snapshot has left behind.
extension ShardWriter {
    /// Throws `.refused` unless this replica has all history up to `index`.
    func checkGivesHistory(atLeast index: UInt64) throws(StorageError) {
        guard missing == nil else { throw StorageError(.refused, "history is not complete here") }
        guard appliedIndex >= index else {
            throw StorageError(.refused, "\(appliedIndex) is applied here, which is before \(index)")
        }
    }

    func planBackfill(
        _ manifest: HistoryManifest, snapshotIndex: UInt64, on thread: StorageThread
    ) throws -> MissingHistory? {
        guard manifest.days.count <= Limits.historyFilesPerShard,
            manifest.days.allSatisfy({ HistoryFile(number: $0.day) != nil })
        else { throw StorageError(.malformed, "a manifest of \(manifest.days.count) days") }
        try checkIsMissing(snapshotIndex)
        missing?.plan(manifest)
        return try notedMissing(on: thread)
    }

    func backfill(
        _ chunk: HistoryChunk, snapshotIndex: UInt64, on thread: StorageThread
    ) throws -> MissingHistory? {
        var reader = DelimitedReader<HistoryRecord>()
        let records = try reader.append(chunk.bytes)
        let rows = records.compactMap(\.row)
        guard reader.waitingBytes == 0, let file = HistoryFile(number: chunk.day),
            rows.allSatisfy({ $0.time.day == file.day })
        else { throw StorageError(.malformed, "a chunk of history ends within a row, or has one of another day") }
        try checkIsMissing(snapshotIndex)
        var advanced = missing
        guard advanced?.advance(chunk.day, from: chunk.after, to: chunk.next) == true else {
            throw StorageError(.refused, "day \(chunk.day) is not missing from there on")
        }
        // Earlier rows go first, as everywhere; it also tells of a disk that takes nothing.
        try flush(on: thread)
        let cutoff = configuration.cutoffs().of(file.life)
        let erasures = records.compactMap(\.erasure).map { erasure in
            Erasure(
                incarnation: erasure.incarnation, seq: erasure.seq, day: file.day, index: erasure.index,
                replacement: erasure.replacement, life: file.life)
        }
        // A day that has expired here is not begun again.
        let visible = file.day >= cutoff.day ? rows.filter { $0.time >= cutoff } : []
        if !visible.isEmpty || (!erasures.isEmpty && file.day >= cutoff.day) {
            do {
                try blockIndex(file)
                let history = HistoryRows(visible)
                try history.bytes.withUnsafeBytes { bytes in
                    try open(file).write(RowGroups(history, in: bytes), in: bytes, erasures, applied: 0)
                }
            } catch {
                let failure = StorageError(any: error)
                if failure.code == .restartNeeded || failure.code == .corrupt { note(failure) }
                throw failure
            }
        }
        missing = advanced
        return try notedMissing(on: thread)
    }

    private func checkIsMissing(_ snapshotIndex: UInt64) throws(StorageError) {
        guard missing?.snapshotIndex == snapshotIndex else {
            throw StorageError(.refused, "no history is missing because of a snapshot as of \(snapshotIndex)")
        }
    }

    /// Tells others how far it is. The end is told when it is durable.
    private func notedMissing(on thread: StorageThread) throws -> MissingHistory? {
        state.update { [missing] in $0.missing = missing }
        if missing?.isComplete == true {
            // A failure is noted, and the next checkpoint tells the end.
            _ = checkpoint(retryingOn: thread)
            if indexes?.state.unblock() == true { wakeIndexer() }
        } else {
            try checkpointIfDue(on: thread)
        }
        return missing
    }
}
