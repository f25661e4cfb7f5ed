import ChatModel
import SQLite

/// The indexes hear of the day files.
extension ShardWriter {
    /// A transaction has changed a day file.
    func noteChanges(
        of file: DayFile, _ name: HistoryFile, _ rows: RowGroups, in bytes: UnsafeRawBufferPointer,
        _ erasures: [Erasure]
    ) {
        guard let indexes else { return }
        let noted = indexes.state.note(name, rows, in: bytes, erasures, applied: file.applied)
        if noted != .nothing { indexes.state.wake(on: indexes.thread, number, isHurried: noted == .much) }
    }

    /// Rows of another replica are about to come to a day file.
    func blockIndex(_ name: HistoryFile) throws {
        guard let indexes, indexes.state.block(name) else { return }
        // The index thread never waits for this one, and each of its steps is short.
        let failure = indexes.thread.ask { [number] worker -> StorageError? in
            do {
                try worker.indexers[number]?.discard(name, worker)
                return nil
            } catch {
                return StorageError(any: error)
            }
        }
        if let failure, let failure { throw failure }
    }

    func wakeIndexer() {
        guard let indexes else { return }
        indexes.state.wake(on: indexes.thread, number)
    }
}
