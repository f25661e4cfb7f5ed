import ChatModel
import SQLite

/// Snapshots of the catalogue: giving and taking. A snapshot is a stream of bytes; cut anywhere, it is installed in
/// pieces of any length. A row takes at most 16 MiB in it (`DelimitedReader.messageBytesMax`); rooms' rows have at most
/// some tens of kilobytes.
extension ShardStorage {
    /// The catalogue as of the newest of what was passed to `write` before, to be read while writing goes on. Fails with
    /// `.overloaded` when `StorageConfiguration.snapshotsMax` are open.
    public func openSnapshot(
        completion: @escaping @Sendable (Result<SnapshotReader, StorageError>) -> Void
    ) {
        withWriter(completion) { [self] writer, worker in
            try writer.openSnapshot(nextNumber(), on: worker.thread)
        }
    }

    /// Begins to receive a snapshot of the state after `index`, beside the live catalogue, which goes on. One that was
    /// being received is given up. Fails with `.refused` when what is here is newer.
    ///
    /// - Parameter mark: what the caller calls the snapshot; comes back as `installedMark`, opaque here.
    public func beginInstall(
        index: UInt64, mark: [UInt8], completion: @escaping @Sendable (Result<Void, StorageError>) -> Void
    ) {
        withWriter(completion) { writer, _ in try writer.beginInstall(index: index, mark: mark) }
    }

    /// The mark of the snapshot that was installed last; nil: none was. A log that was not told of it, because the node
    /// stopped in between, must be: it has nothing that leads to `appliedIndex`.
    public var installedMark: [UInt8]? { state.withLock { $0.installedMark } }

    /// The next bytes of the snapshot. After a failure the installation is given up, and the live catalogue is what it
    /// was: `.full`, `.io`, `.malformed` for what is no snapshot as of the index, `.refused` when none was begun.
    public func installSnapshot(
        _ bytes: [UInt8], completion: @escaping @Sendable (Result<Void, StorageError>) -> Void
    ) {
        withWriter(completion) { writer, _ in try writer.install(bytes) }
    }

    /// Puts the snapshot, which must have come to its end, in the place of the catalogue. Whenever the power is cut,
    /// the old or the new one is there; when this completes, the new one, and `appliedIndex`, `writtenIndex` and
    /// `syncedIndex` are the snapshot's. Catalogue rows that were passed to `write` before are void. History stays, and
    /// what is missing of it is noted in the same step (`missingHistory`).
    ///
    /// Nothing may be passed to `write` from the call on until it completes. After a failure the live catalogue is what
    /// it was; only with `.restartNeeded` the storage has halted, and a start finds one of both.
    public func finishInstall(completion: @escaping @Sendable (Result<Void, StorageError>) -> Void) {
        withWriter(completion) { writer, worker in try writer.finishInstall(on: worker.thread) }
    }

    /// Gives up what is being received. Nothing happens when there is nothing.
    public func abandonInstall(completion: @escaping @Sendable (Result<Void, StorageError>) -> Void = { _ in }) {
        withWriter(completion) { writer, _ in writer.abandonInstall() }
    }
}
