import ChatModel
import SQLite

/// Keeps the indexes of a shard's day files as these are, on the index thread, a bounded step at a time. Nobody waits for it:
/// rows that are not in an index yet are looked at by the searches themselves.
final class SearchIndexer {
    enum Next {
        /// There is more to do.
        case now
        /// There will be.
        case later(ContinuousClock.Instant)
        case nothing
    }

    private struct OpenFile {
        var file: SearchIndexFile
        var generation: UInt64
        var build: SearchBuild?
        var scrubAt: ContinuousClock.Instant?
    }

    let number: UInt64
    private let directory: String
    private let configuration: StorageConfiguration
    private let state: SearchState
    private let readerThread: StorageThread
    private var open: [HistoryFile: OpenFile] = [:]
    /// Told when nothing is left to do.
    private var waiting: [@Sendable () -> Void] = []
    /// A job for the next step waits.
    var isBusy = false
    /// When it will look again by itself.
    var wakesAt: ContinuousClock.Instant?

    /// Rows that are put in with one transaction.
    private static let rowsMax = 1_000
    /// Steps before the end. A start completes what they leave.
    private static let lastStepsMax = 16
    /// Bytes of texts that are put in with one transaction.
    static let bytesMax = 4 << 20

    init(
        number: UInt64, directory: String, configuration: StorageConfiguration, state: SearchState,
        readerThread: StorageThread
    ) {
        self.number = number
        self.directory = directory
        self.configuration = configuration
        self.state = state
        self.readerThread = readerThread
    }

    /// Puts in what waits, as far as that is done in a moment, and closes the files.
    func close(_ worker: StorageWorker) {
        for _ in 0..<Self.lastStepsMax {
            let name = state.shared.withLock { shared in
                shared.files.first { $0.value.phase == .complete && $0.value.pending.count > 0 }?.key
            }
            guard let name else { break }
            do { try takePending(name, worker) } catch { break }
        }
        for (_, open) in open { open.file.close() }
        open = [:]
        for done in waiting { done() }
        waiting = []
    }

    var isResting: Bool { state.isResting }

    /// Calls when everything that was noted before is in the indexes, and what was deleted is out of their files.
    func whenDone(_ done: @escaping @Sendable () -> Void) { waiting.append(done) }

    // MARK: - Steps

    func step(_ worker: StorageWorker) -> Next {
        removeFiles(worker)
        let now = ContinuousClock.now
        // A file of a past day is closed, though nothing comes to it any more.
        let today = configuration.now().day
        for name in open.keys where name.day < today { state.setDue(name) }
        var (next, last): (ContinuousClock.Instant?, HistoryFile?) = (nil, nil)
        // Each turn has an older file.
        while let (name, file) = state.takeDue(before: last) {
            last = name
            if let retryAt = file.retryAt, retryAt > now {
                next = min(next ?? retryAt, retryAt)
                state.setDue(name)
                continue
            }
            do {
                switch try step(name, file, worker: worker, now: now) {
                case .now:
                    state.setDue(name)
                    return .now
                case .later(let time):
                    state.setDue(name)
                    next = min(next ?? time, time)
                case .nothing: break
                }
            } catch {
                giveUp(name, StorageError(any: error), worker)
                state.setDue(name)
                return .now
            }
        }
        if let next { return .later(next) }
        for done in waiting { done() }
        waiting = []
        return .nothing
    }

    private func step(
        _ name: HistoryFile, _ file: SearchState.Summary, worker: StorageWorker, now: ContinuousClock.Instant
    ) throws -> Next {
        if let known = open[name], known.generation != file.generation { try remove(name, worker) }
        switch file.phase {
        case .unasked, .blocked: return .nothing
        case .unknown: return try complete(name, file, worker)
        case .complete:
            if file.hasPending {
                try takePending(name, worker)
                return .now
            }
            return try clean(name, now)
        }
    }

    // MARK: - Files

    private func path(_ name: HistoryFile) -> String { directory + "/" + SearchFile.name(of: name.name) }

    private func index(_ name: HistoryFile, _ generation: UInt64) throws -> SearchIndexFile {
        if let known = open[name] { return known.file }
        let path = path(name)
        try FileSystem.rewrite(path + "-wal")
        let file = try SearchIndexFile(
            path: path, vfs: configuration.vfs, blockRows: state.configuration.blockRows)
        open[name] = OpenFile(file: file, generation: generation)
        return file
    }

    private func dayReader(_ name: HistoryFile, _ worker: StorageWorker) throws(SQLiteError) -> DayReader? {
        try worker.readers.reader(
            ReaderCache.Key(storage: number, file: name), path: directory + "/" + name.name,
            vfs: configuration.vfs)
    }

    /// Closes an index and removes its files.
    private func remove(_ name: HistoryFile, _ worker: StorageWorker) throws {
        open.removeValue(forKey: name)?.file.close()
        // The reader thread never waits for this one.
        _ = readerThread.ask { [number] worker in
            worker.indexes.close(ReaderCache.Key(storage: number, file: name))
        }
        for suffix in SearchFile.suffixes { try FileSystem.remove(path(name) + suffix) }
    }

    /// Removes the index of a day for good before rows of another replica come to its file: what they change can't be told
    /// from the log entry of the file.
    func discard(_ name: HistoryFile, _ worker: StorageWorker) throws {
        try remove(name, worker)
        try FileSystem.syncDirectory(of: path(name))
    }

    private func removeFiles(_ worker: StorageWorker) {
        let removed = state.shared.withLock { shared in
            defer { shared.removed = [] }
            return shared.removed
        }
        for name in removed {
            worker.readers.close(ReaderCache.Key(storage: number, file: name))
            // The next start removes a file that can't be removed now.
            do { try remove(name, worker) } catch {}
        }
    }

    private func giveUp(_ name: HistoryFile, _ failure: StorageError, _ worker: StorageWorker) {
        let isDamaged = failure.code == .corrupt || failure.code == .unsupported
        open.removeValue(forKey: name)?.file.close()
        state.shared.withLock { [retryAt = ContinuousClock.now + state.configuration.retryDelay] shared in
            guard var file = shared.files[name] else { return }
            shared.errors += 1
            if isDamaged { shared.rebuilds += 1 }
            shared.files[name] = nil
            file.pending.insert(file.taken)
            file.taken = SearchState.Keys()
            // The first time it is made anew at once.
            file.retryAt = isDamaged && !file.wasDamaged ? nil : retryAt
            file.wasDamaged = isDamaged
            if file.phase == .complete { file.phase = .unknown }
            if isDamaged { file.generation += 1 }
            shared.files[name] = file
        }
        guard isDamaged else { return }
        do { try remove(name, worker) } catch {}
    }

    // MARK: - Indexing

    private func entry(_ row: IndexedRow) -> SearchIndexFile.Entry {
        SearchIndexFile.Entry(
            life: row.life, seq: row.seq, index: row.index, time: row.time,
            text: row.recalled ? "" : state.configuration.text(row.payload))
    }

    private func takePending(_ name: HistoryFile, _ worker: StorageWorker) throws {
        let (keys, applied, generation) = state.shared.withLock { shared in
            guard var file = shared.files[name] else { return (SearchState.Keys(), UInt64(0), UInt64(0)) }
            shared.files[name] = nil
            defer { shared.files[name] = file }
            file.taken = file.pending.take(Self.rowsMax)
            return (file.taken, file.pending.count == 0 ? file.applied : 0, file.generation)
        }
        guard keys.count > 0, let reader = try dayReader(name, worker) else { return }
        var entries: [SearchIndexFile.Entry] = []
        try reader.database.readTransaction { () throws(SQLiteError) in
            for (life, seqs) in keys.rooms {
                for seq in seqs {
                    guard let row = try reader.row(life, seq: Int64(clamping: seq)) else { continue }
                    entries.append(
                        entry(
                            IndexedRow(
                                life: life, seq: seq, index: row.index, time: row.time, recalled: row.recalled,
                                payload: row.payload)))
                }
            }
        }
        let file = try index(name, generation)
        try file.put(entries, applied: applied == 0 ? nil : applied)
        try file.checkpointIfLarge()
        state.shared.withLock { $0.files[name]?.taken = SearchState.Keys() }
    }

    /// Makes an index, or compares one with its day file and adds what it lacks.
    private func complete(_ name: HistoryFile, _ file: SearchState.Summary, _ worker: StorageWorker) throws -> Next {
        guard let reader = try dayReader(name, worker) else { return .nothing }
        let index = try index(name, file.generation)
        if open[name]?.build == nil {
            let lastIndex = try reader.lastIndex()
            // Rows may have been noted meanwhile: they are among those that wait then.
            if index.applied != 0, index.applied == lastIndex {
                try setComplete(name, lastIndex)
                return .now
            }
            open[name]?.build = SearchBuild(isNew: index.blocks.isEmpty, lastIndex: lastIndex)
        }
        guard var build = open[name]?.build else { return .now }
        let isOver = try build.step(reader, index, entry)
        open[name]?.build = isOver ? nil : build
        try index.checkpointIfLarge()
        if isOver { try setComplete(name, build.lastIndex) }
        return .now
    }

    private func setComplete(_ name: HistoryFile, _ applied: UInt64) throws(SQLiteError) {
        let rooms = try open[name]?.file.rooms(atMost: RoomFilter.roomsMax)
        let isNew = name.day >= configuration.now().day
        state.shared.withLock { shared in
            guard let generation = open[name]?.generation, var file = shared.files[name], file.generation == generation,
                file.phase == .unknown
            else { return }
            file.phase = .complete
            file.retryAt = nil
            file.wasDamaged = false
            file.applied = max(file.applied, applied)
            file.setRooms(rooms, isNew: isNew)
            shared.files[name] = file
        }
    }

    /// The filter of a day that is over needs room for no others.
    private func fitRooms(_ name: HistoryFile, _ known: OpenFile) throws(SQLiteError) {
        let rooms = try known.file.rooms(atMost: RoomFilter.roomsMax)
        state.shared.withLock { shared in
            guard var file = shared.files[name], file.generation == known.generation, file.phase == .complete else {
                return
            }
            file.setRooms(rooms, isNew: false)
            shared.files[name] = file
        }
    }

    // MARK: - Cleaning

    private func clean(_ name: HistoryFile, _ now: ContinuousClock.Instant) throws -> Next {
        guard let known = open[name] else { return .nothing }
        if known.file.blocks.contains(where: \.isDirty) {
            let scrubAt = known.scrubAt ?? now + state.configuration.scrubDelay
            guard scrubAt <= now || !waiting.isEmpty else {
                open[name]?.scrubAt = scrubAt
                return .later(scrubAt)
            }
            if try known.file.scrub() { return .now }
        }
        open[name]?.scrubAt = nil
        if known.file.needsTruncation {
            // Each turn of a reader is short.
            guard try known.file.truncate() else { return .later(now + .milliseconds(50)) }
        }
        // A file that nobody writes any more costs nothing.
        if name.day < configuration.now().day, known.file.applied != 0 {
            try fitRooms(name, known)
            known.file.close()
            open[name] = nil
        }
        return .nothing
    }
}
