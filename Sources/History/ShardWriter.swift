import ChatModel
import Glibc
import SQLite

/// The storage thread's side of a shard: its files and what is not in them yet. Nothing of it is touched by another
/// thread.
///
/// The catalogue on stable storage is never ahead of history on stable storage. After a crash, rooms are restored from
/// the catalogue as of its index C, and the log from C + 1 on is applied again; what was applied before is not, so its
/// history rows must have been synced before the catalogue said C. Therefore history rows are written as they come,
/// and catalogue rows wait in memory for `checkpoint`.
final class ShardWriter {
    let number: UInt64
    let directory: String
    let configuration: StorageConfiguration
    /// The cluster's, as far as this shard has heard.
    private var level: FeatureLevel
    let state: Monitor<ShardState>
    let readerThread: StorageThread
    /// Nil: there are none.
    let indexes: (state: SearchState, thread: StorageThread)?
    var catalogue: CatalogueFile
    var changes = CatalogueChanges()
    /// A snapshot that is being received.
    var install: SnapshotInstall?
    /// The newest generation of a catalogue that was begun.
    var lastGeneration: UInt64
    /// As of which entry this process has installed a snapshot; 0: none.
    var installedIndex: UInt64 = 0
    /// The missing part of the history now. The catalogue follows at a checkpoint, because it must not be ahead of the
    /// rows.
    var missing: MissingHistory?
    private var files = HistoryFiles()
    /// Those that are being written.
    private var openFiles: [HistoryFile: DayFile] = [:]
    /// Times of the newest rows of files that are not open; a file that nobody writes does not change.
    private var lastTimes: [HistoryFile: Timestamp] = [:]
    /// Taken from the shared state, oldest first, and not in the files yet.
    private var unwritten = Fifo<StorageBatch>()
    private let space: RowSpace
    var appliedIndex: UInt64
    private var publishedHealth = StorageHealth.good
    private var retryDelay = ShardWriter.retryDelayMin
    private var isRetryScheduled = false

    /// Files of past days that are written to are closed when more than so many are open.
    private static let openFilesMax = 24
    private static let retryDelayMin = Duration.milliseconds(100)
    private static let retryDelayMax = Duration.seconds(2)

    init(
        number: UInt64, directory: String, configuration: StorageConfiguration, state: Monitor<ShardState>,
        readerThread: StorageThread, indexes: (state: SearchState, thread: StorageThread)?, space: RowSpace
    ) throws {
        self.space = space
        self.number = number
        self.directory = directory
        self.configuration = configuration
        level = configuration.level
        self.state = state
        self.readerThread = readerThread
        self.indexes = indexes
        try FileSystem.makeDirectory(directory)
        let names = try FileSystem.names(in: directory)
        files = HistoryFiles(names.lazy.compactMap { HistoryFile(name: $0) })
        lastGeneration = CatalogueName.newest(in: names) ?? 0
        let path = directory + "/" + CatalogueName.fileName(lastGeneration)
        // The rows that were read are brought to the disk before anything relies on them (see `FileSystem.rewrite`).
        // The frames are not checked like the log's (`WriteAheadLogCheck`): with `synchronous` NORMAL no commit is
        // synced, so after a power cut any transaction since the last checkpoint may be torn, and the first misfit is
        // rightly the end. These files may lose what follows: the log is trimmed only to what a completed checkpoint
        // has brought to them, and the rest is applied again. Not found out is damage to frames that a checkpoint had
        // copied already, until the next write goes over them.
        try FileSystem.rewrite(path + "-wal")
        catalogue = try CatalogueFile(path: path, vfs: configuration.vfs, level: configuration.level)
        appliedIndex = catalogue.appliedIndex
        missing = catalogue.missing
        do {
            _ = try catalogue.database.checkpoint(.passive)
            try removeRests(live: lastGeneration)
            // Readers look at no file's version.
            for file in files.all {
                let isWhole =
                    try !needsRecovery(file)
                    && DayFile.format.checkHead(of: self.path(file), at: level)
                guard !isWhole else { continue }
                _ = try open(file)
                // At the first start after the level has risen these are all of them.
                if openFiles.count > Self.openFilesMax { try closePastFiles() }
            }
        } catch {
            closeFiles()
            throw error
        }
        let indexed = Set(names.lazy.compactMap { SearchFile.dayFile(of: $0).flatMap { HistoryFile(name: $0) } })
        indexes?.state.begin(files.all, indexed: indexed, isBlocked: missing != nil)
        state.withLock { [appliedIndex, missing, mark = catalogue.installedMark] state in
            state.missing = missing
            state.installedMark = mark
            state.appliedIndex = appliedIndex
            state.writtenIndex = appliedIndex
            state.syncedIndex = appliedIndex
        }
    }

    /// Writes what it can and closes the files. The reader thread must have closed its own before.
    func close() {
        abandonInstall()
        // A failure has been noted; the log has what could not be written. Once halted, a sync proves nothing any more.
        if state.withLock({ $0.halt == nil }) { _ = checkpoint() }
        closeFiles()
    }

    private func closeFiles() {
        for file in openFiles.values { file.close() }
        (files, openFiles) = (HistoryFiles(), [:])
        catalogue.close()
    }

    /// Whether a file was not closed in order. Reading connections cannot mend that; a writing one does on opening.
    private func needsRecovery(_ file: HistoryFile) -> Bool {
        let path = path(file)
        return FileSystem.size(path) == 0 || FileSystem.size(path + "-wal") ?? 0 > 0
            || FileSystem.exists(path + "-journal")
    }

    // MARK: - Writing history

    /// Brings everything that was passed to `write` into the files; throws while that is not possible.
    func flush(on thread: StorageThread) throws(StorageError) {
        let halt = state.withLock { state in
            unwritten.append(contentsOf: state.incoming)
            state.incoming = []
            state.isFlushUrgent = false
            return state.halt
        }
        defer { publishHealth() }
        if let halt { throw halt }
        guard !unwritten.isEmpty else { return }
        do {
            while !unwritten.isEmpty { try writeSome() }
        } catch {
            let failure = note(error)
            state.withLock { $0.failure = failure }
            scheduleRetry(on: thread)
            throw failure
        }
        let hasFailedCheckpoint = state.withLock { state in
            state.failure = nil
            return state.checkpointFailure != nil
        }
        // It has a retry of its own.
        guard !hasFailedCheckpoint else { return }
        retryDelay = Self.retryDelayMin
        try checkpointIfDue(on: thread)
    }

    /// Writes a transaction's worth of batches: one transaction per file.
    private func writeSome() throws {
        var bytes = 0
        let batches = unwritten.prefix { batch in
            let size = batch.bytes
            guard bytes == 0 || bytes + size <= configuration.transactionBytesMax else { return false }
            bytes += size
            return true
        }
        let index = batches.reduce(appliedIndex) { max($0, $1.appliedIndex) }
        let cutoffs = configuration.removalCutoffs()
        var erasures: [HistoryFile: [Erasure]] = [:]
        for batch in batches {
            for erasure in batch.erasures where cutoffs.shows(erasure.file) && erasure.file.isNameable {
                erasures[erasure.file, default: []].append(erasure)
            }
        }
        try space.withRows(of: batches.lazy.map(\.history)) { history, bytes in
            var rows: [HistoryFile: RowGroups] = [:]
            history.forEachPlace(in: bytes) { row, place in
                // Replay and back-fill bring rows that have expired meanwhile; their file may be gone, and stays gone.
                guard row.time >= cutoffs.of(row.life), row.file.isNameable else { return }
                rows[row.file, default: RowGroups()].add(row.head, at: place)
            }
            // A failure in between leaves some files ahead of others, which the repetition of the same rows mends.
            for name in Set(rows.keys).union(erasures.keys).sorted() {
                let file = try open(name)
                let (some, gone) = (rows[name] ?? RowGroups(), erasures[name] ?? [])
                try file.write(some, in: bytes, gone, applied: index)
                noteChanges(of: file, name, some, in: bytes, gone)
                // Recalls and imports may come to any day.
                if openFiles.count > Self.openFilesMax { try closePastFiles() }
            }
        }
        // Work for a state that a snapshot has replaced is void.
        for batch in batches where installedIndex == 0 || batch.appliedIndex > installedIndex {
            for row in batch.catalogue { changes.put(row) }
            for retired in batch.retired { changes.retire(retired) }
        }
        appliedIndex = index
        let written = batches.reduce(0) { $0 + $1.bytes }
        let callbacks = batches.compactMap(\.onWritten)
        unwritten.removeFirst(batches.count)
        state.withLock { state in
            state.appliedIndex = index
            state.pendingBytes -= written
            state.updateOverload(bytesMax: configuration.pendingBytesMax)
        }
        for callback in callbacks { callback() }
    }

    private func path(_ file: HistoryFile) -> String { directory + "/" + file.name }

    /// The writing connection of a file; makes it when it is missing.
    func open(_ name: HistoryFile) throws -> DayFile {
        if let file = openFiles[name] { return file }
        let path = path(name)
        try FileSystem.rewrite(path + "-wal")
        let file = try DayFile(
            path: path, vfs: configuration.vfs, level: level, blockRowsMin: configuration.blockRowsMin,
            inlinePayloadsMax: configuration.inlinePayloadsMax, erased: configuration.erased)
        files.insert(name)
        openFiles[name] = file
        lastTimes[name] = nil
        return file
    }

    // MARK: - Checkpoint

    /// Makes everything that was passed to `write` durable; returns the index up to which the log is not needed any
    /// more. The order of the steps is the invariant of this type.
    ///
    /// While a snapshot is open, only what it sees can be brought from the write-ahead log to the catalogue: the index
    /// stays behind until it is closed.
    ///
    /// - Parameter thread: on which it is tried again soon, if it fails: the host asks seldom.
    func checkpoint(retryingOn thread: StorageThread? = nil) -> Result<UInt64, StorageError> {
        defer { publishHealth() }
        do {
            try syncHistory()
            let missing = missing?.isComplete == true ? nil : missing
            if catalogue.appliedIndex < appliedIndex || !changes.isEmpty || catalogue.missing != missing {
                try catalogue.write(changes, applied: appliedIndex, missing: missing)
                changes = CatalogueChanges()
                state.withLock { [appliedIndex] in $0.writtenIndex = appliedIndex }
            }
            let hasSnapshots = state.withLock { $0.snapshots > 0 }
            if catalogue.hasUnsyncedChanges { delaySync() }
            let isSynced = try catalogue.checkpoint()
            guard isSynced || hasSnapshots else {
                throw StorageError(.busy, "\(catalogue.database.path): another process has the catalogue open")
            }
            if isSynced { self.missing = missing }
            retryDelay = Self.retryDelayMin
            return .success(
                state.update { [index = catalogue.appliedIndex] state in
                    state.checkpointFailure = nil
                    if isSynced {
                        state.syncedIndex = index
                        state.missing = missing
                    }
                    return state.syncedIndex
                })
        } catch {
            let failure = note(error)
            state.withLock { $0.checkpointFailure = failure }
            if let thread { scheduleRetry(on: thread) }
            return .failure(failure)
        }
    }

    private func syncHistory() throws {
        for (name, file) in openFiles {
            if file.hasUnsyncedChanges { delaySync() }
            guard try file.checkpoint() else {
                throw StorageError(.busy, "\(file.database.path): readers kept the checkpoint from finishing")
            }
            closeIfPast(name, file)
            closeIfFormer(name, file)
        }
    }

    /// Syncs and closes files of past days; one that readers are in the way of stays for the next checkpoint.
    private func closePastFiles() throws(SQLiteError) {
        for (name, file) in openFiles where isPast(name) {
            if file.hasUnsyncedChanges { delaySync() }
            if try file.checkpoint() { closeIfPast(name, file) }
        }
    }

    /// Only recalls, imports and back-fill still come to a past day.
    private func isPast(_ name: HistoryFile) -> Bool { name.day < configuration.now().day }

    /// The file is synced.
    private func closeIfPast(_ name: HistoryFile, _ file: DayFile) {
        guard isPast(name) else { return }
        lastTimes[name] = file.lastTime
        file.close()
        openFiles[name] = nil
    }

    /// The cluster's level has risen: files that are opened from now on become what it brings, and so do those that are open, by
    /// being opened once more after their next checkpoint.
    func use(_ level: FeatureLevel) { self.level = max(self.level, level) }

    /// The file is synced.
    private func closeIfFormer(_ name: HistoryFile, _ file: DayFile) {
        guard !DayFile.format.isCurrent(file.version, at: level), openFiles.removeValue(forKey: name) != nil else {
            return
        }
        file.close()
    }

    func checkpointIfDue(on thread: StorageThread) throws(StorageError) {
        let isDue =
            changes.bytes >= configuration.catalogueBytesMax
            || appliedIndex >= catalogue.appliedIndex + configuration.checkpointEntries
            || openFiles.values.contains { $0.unsyncedPages >= configuration.checkpointPages }
        if isDue, case .failure(let error) = checkpoint(retryingOn: thread), error.code == .restartNeeded {
            throw error
        }
    }

    func delaySync() {
        if configuration.syncDelayMicroseconds > 0 { usleep(configuration.syncDelayMicroseconds) }
    }

    // MARK: - Failures

    /// An error that cannot be retried ends all writing.
    @discardableResult
    func note(_ error: any Error) -> StorageError {
        let failure = StorageError(any: error)
        state.withLock { state in
            switch failure.code {
            case .restartNeeded, .corrupt, .unsupported:
                // A failed sync: the kernel may drop what it could not write and say that all is well next time, so
                // another try would prove nothing. The log still has everything that was not synced before.
                state.halt = state.halt ?? failure
            case .full, .io, .busy, .overflowed, .overloaded, .tooOften, .cancelled, .malformed, .refused, .expired,
                .closed:
                break
            }
        }
        return failure
    }

    private func scheduleRetry(on thread: StorageThread) {
        guard !isRetryScheduled, state.withLock({ $0.halt == nil }) else { return }
        isRetryScheduled = true
        thread.submit(after: retryDelay) { [number] worker in
            guard let writer = worker.writers[number] else { return }
            writer.isRetryScheduled = false
            // The error has been noted and the next try scheduled.
            do throws(StorageError) { try writer.flush(on: worker.thread) } catch { return }
            guard writer.state.withLock({ $0.checkpointFailure != nil }) else { return }
            _ = writer.checkpoint(retryingOn: worker.thread)
        }
        retryDelay = min(retryDelay * 2, Self.retryDelayMax)
    }

    /// Tells the host when the health has changed. On the storage thread only, so that changes arrive in order.
    func publishHealth() {
        let health = state.withLock { $0.health }
        guard health != publishedHealth else { return }
        publishedHealth = health
        configuration.onHealthChange(health)
    }

    // MARK: - Reading

    /// The history files that there are, in their order.
    var fileNames: [HistoryFile] { files.all }

    func load(_ room: RoomID) throws -> [CatalogueRow] { try catalogue.load(room, changes) }

    func rooms(_ kind: UInt8, after: RoomID?, limit: Int) throws -> [CatalogueRow] {
        try catalogue.rooms(kind, after: after, limit: limit, changes)
    }

    func count(_ kind: UInt8) throws -> Int { try catalogue.count(kind, changes) }

    func due(from first: Timestamp, at time: Timestamp, limit: Int) throws -> [DueDeadline] {
        try catalogue.due(from: first, at: time, limit: limit, changes)
    }

    // MARK: - Removal

    /// Removes the files whose last row is not visible any more. Waits for the reader thread to close them, which it
    /// does between two slices; the reader thread never waits for this one.
    func removeExpiredFiles() throws {
        let cutoffs = configuration.removalCutoffs()
        for file in files.all where file.day <= cutoffs.of(file.life).day {
            guard try lastTime(file) < cutoffs.of(file.life) else { continue }
            openFiles.removeValue(forKey: file)?.close()
            files.remove(file)
            lastTimes[file] = nil
            _ = readerThread.ask { [number] worker in
                worker.readers.close(ReaderCache.Key(storage: number, file: file))
            }
            indexes?.state.remove(file)
            wakeIndexer()
            let path = path(file)
            // The log of the file goes first: alone it means nothing.
            for suffix in ["-wal", "-shm", PayloadFile.suffix, ""] { try FileSystem.remove(path + suffix) }
        }
    }

    /// The time of a file's newest row; without rows, the end of its day.
    private func lastTime(_ name: HistoryFile) throws -> Timestamp {
        if let known = lastTimes[name] { return known }
        let file = try open(name)
        let end = Timestamp((name.day + 1) * Timestamp.millisecondsPerDay - 1)
        let time = file.lastTime ?? end
        if isPast(name), !file.hasUnsyncedChanges {
            closeIfPast(name, file)
            lastTimes[name] = time
        }
        return time
    }
}
