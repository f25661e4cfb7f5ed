import ChatModel
import SQLite

extension ShardStorage {
    /// Copies the shard while it goes on: the catalogue as of one log entry, and the history as of the same. The copy
    /// is a shard's directory like any other; it is whole when this completes, and one that is not says so itself
    /// (`isHistoryComplete`). It is made as a replica is, from a snapshot and what is missing then.
    ///
    /// A message that was recalled after that entry is a recalled one in the copy.
    ///
    /// - Parameters:
    ///   - directory: is made; must be missing or empty, else `.refused`.
    ///   - completion: called on a thread of the backup's, with the index of the log entry.
    public func backup(
        to directory: String, completion: @escaping @Sendable (Result<UInt64, StorageError>) -> Void
    ) {
        startDatabaseThread("backup", isInBackground: true) { [self] in
            do {
                completion(.success(try copy(to: directory)))
            } catch {
                completion(.failure(StorageError(any: error)))
            }
        }
    }

    private static var chunkBytes: Int { 1 << 20 }

    /// Blocks; on a thread of its own.
    private func copy(to directory: String) throws -> UInt64 {
        try FileSystem.makeDirectory(directory)
        guard try FileSystem.names(in: directory).isEmpty else {
            throw StorageError(.refused, "\(directory) is not empty")
        }
        // Threads of its own, so that the shards' writing does not wait for the copy's.
        let pool = StoragePool(writers: 1, readers: 1)
        defer { pool.close() }
        var options = configuration
        options.onHealthChange = { _ in }
        // Indexes follow from the history: the restored shard makes its own.
        options.search = nil
        let copy = try ShardStorage.open(ShardID(0), directory: directory, pool: pool, configuration: options)
        defer { copy.close() }
        let index = try copyCatalogue(to: copy)
        try copyHistory(to: copy, notAfter: index)
        _ = try waited { copy.checkpoint(completion: $0) }
        guard copy.isHistoryComplete else { throw StorageError(.io, "\(directory): the copy is not complete") }
        return index
    }

    private func copyCatalogue(to copy: ShardStorage) throws -> UInt64 {
        let reader = try waited { openSnapshot(completion: $0) }
        defer { reader.close() }
        try waited { copy.beginInstall(index: reader.index, mark: [], completion: $0) }
        while true {
            let bytes = try waited { reader.next(bytesMax: Self.chunkBytes, completion: $0) }
            if bytes.isEmpty { break }
            try waited { copy.installSnapshot(bytes, completion: $0) }
        }
        try waited { copy.finishInstall(completion: $0) }
        return reader.index
    }

    private func copyHistory(to copy: ShardStorage, notAfter index: UInt64) throws {
        guard copy.missingHistory != nil else { return }
        let manifest = try waited { historyManifest(atLeast: index, completion: $0) }
        var missing = try waited { copy.planBackfill(manifest, snapshotIndex: index, completion: $0) }
        while let day = missing?.days?.first {
            let chunk = try waited {
                historyChunk(
                    day: day.day, after: day.cursor, changedAfter: 0, notAfter: index, atLeast: index,
                    bytesMax: Self.chunkBytes, completion: $0)
            }
            missing = try waited { copy.backfill(chunk, snapshotIndex: index, completion: $0) }
        }
    }

    private func waited<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) throws(StorageError) -> Value {
        let answer = Monitor<Result<Value, StorageError>?>(nil)
        call { result in answer.update { $0 = result } }
        return try answer.wait { $0 }.get()
    }
}
