import ChatModel
import SQLite

/// A snapshot that is being received, in a file beside the live catalogue. Used by the shard's storage thread only.
final class SnapshotInstall {
    /// As of which log entry it is.
    let index: UInt64
    let generation: UInt64
    let path: String
    let mark: [UInt8]
    private let file: CatalogueFile
    private let checkpointPages: Int
    private var stream: SnapshotStream

    init(
        index: UInt64, mark: [UInt8], generation: UInt64, directory: String, configuration: StorageConfiguration
    ) throws {
        self.index = index
        self.mark = mark
        self.generation = generation
        path = directory + "/" + CatalogueName.stagingName(generation)
        checkpointPages = configuration.checkpointPages
        stream = SnapshotStream(index: index)
        file = try CatalogueFile(path: path, vfs: configuration.vfs, level: configuration.level)
    }

    /// Takes the next bytes of the snapshot's stream.
    func take(_ bytes: [UInt8]) throws {
        let rows = try stream.append(bytes)
        if !rows.isEmpty { try file.put(rows) }
        if file.database.writeAheadLogPages >= checkpointPages { _ = try file.database.checkpoint(.passive) }
    }

    /// Brings all of it to the disk, in one file without a write-ahead log, and closes it.
    func finish(_ missing: MissingHistory?) throws {
        guard stream.isComplete else { throw StorageError(.malformed, "the snapshot has not come to its end") }
        try file.put(installedMark: mark)
        try file.write(CatalogueChanges(), applied: index, missing: missing)
        guard try file.database.checkpoint(.truncate).isComplete else {
            throw StorageError(.io, "\(path): another process has the file open")
        }
        file.close()
    }

    /// Closes and removes it. Files that can't be removed now are removed at the next start.
    func discard() {
        file.close()
        for suffix in ["-wal", "-shm", ""] {
            do throws(SQLiteError) { try FileSystem.remove(path + suffix) } catch {}
        }
    }
}
