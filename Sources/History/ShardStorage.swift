import ChatModel
import SQLite
import Synchronization

/// The catalogue and the history of one shard on disk (ARCHITECTURE.md, "Storage").
///
/// All calls are safe from any thread and, except `open` and `close`, return at once; completions run on a storage
/// thread and must hand over to where they belong. Every read sees everything that was passed to `write` before it.
public final class ShardStorage: Sendable {
    let number: UInt64
    public let directory: String
    let configuration: StorageConfiguration
    let writerThread: StorageThread
    let readerThread: StorageThread
    let indexThread: StorageThread
    /// Nil: search is off.
    let search: SearchState?
    let state: Monitor<ShardState>
    let typeRuns: TypeRuns
    private let pool: StoragePool
    private let historyReads = Atomic<Int>(0)
    let lines = Monitor(ReadLines())

    private init(_ shard: ShardID, directory: String, pool: StoragePool, configuration: StorageConfiguration) {
        number = pool.nextNumber()
        self.directory = directory
        self.configuration = configuration
        writerThread = pool.writer(of: shard.number)
        readerThread = pool.reader(of: shard.number)
        indexThread = pool.indexer
        search = configuration.search.map(SearchState.init)
        state = Monitor(ShardState())
        typeRuns = TypeRuns(rows: configuration.typeRunRows)
        self.pool = pool
    }

    /// Opens the files in `directory`, which is made when it is missing. Blocks for a few milliseconds.
    ///
    /// Throws `.full`, `.io`, `.corrupt`, `.unsupported`, or `.closed` when the pool is.
    public static func open(
        _ shard: ShardID, directory: String, pool: StoragePool, configuration: StorageConfiguration
    ) throws(StorageError) -> ShardStorage {
        try beginOpening(shard, directory: directory, pool: pool, configuration: configuration).wait()
    }

    /// Opens several, on all writers' threads at once: each waits for syncs of its own. Blocks.
    ///
    /// - Throws: the error of the first that can't be opened; the others are open.
    public static func open(
        _ shards: [(shard: ShardID, directory: String)], pool: StoragePool, configuration: StorageConfiguration
    ) throws(StorageError) -> [ShardStorage] {
        let openings = shards.map {
            beginOpening($0.shard, directory: $0.directory, pool: pool, configuration: configuration)
        }
        var storages: [ShardStorage] = []
        for opening in openings { storages.append(try opening.wait()) }
        return storages
    }

    private struct Opening {
        var storage: ShardStorage
        var failure: StorageThread.Asked<StorageError?>

        func wait() throws(StorageError) -> ShardStorage {
            guard let failure = failure.wait() else { throw StorageError(.closed, "the storage threads have ended") }
            if let failure { throw failure }
            return storage
        }
    }

    private static func beginOpening(
        _ shard: ShardID, directory: String, pool: StoragePool, configuration: StorageConfiguration
    ) -> Opening {
        let storage = ShardStorage(shard, directory: directory, pool: pool, configuration: configuration)
        let failure: StorageThread.Asked<StorageError?> = storage.writerThread.begin { worker in
            do {
                worker.writers[storage.number] = try ShardWriter(
                    number: storage.number, directory: directory, configuration: configuration, state: storage.state,
                    readerThread: storage.readerThread,
                    indexes: storage.search.map { ($0, storage.indexThread) }, space: worker.rows)
                storage.openIndexes(storage.search)
                return nil
            } catch {
                return StorageError(any: error)
            }
        }
        return Opening(storage: storage, failure: failure)
    }

    /// A number for a snapshot, which no other one of the pool has.
    func nextNumber() -> UInt64 { pool.nextNumber() }

    // MARK: - Indices

    /// Up to here everything that was passed to `write` can be read. At open: as of which log entry the catalogue is;
    /// replay begins with the next entry, and history may already hold rows of later ones.
    public var appliedIndex: UInt64 { state.withLock { $0.appliedIndex } }

    /// As of which log entry the catalogue on disk is. A room whose last change is not after it need not be in memory.
    public var writtenIndex: UInt64 { state.withLock { $0.writtenIndex } }

    /// Up to here everything has been synced, and the log may be trimmed.
    public var syncedIndex: UInt64 { state.withLock { $0.syncedIndex } }

    public var health: StorageHealth { state.withLock { $0.health } }

    /// Why the disk does not take what it is given: it is full, answers with an error, or is not trusted any more; nil
    /// when the last attempts succeeded. Meanwhile rows are kept in memory, up to the bound.
    public var diskFailure: StorageError? { state.withLock { $0.diskFailure } }

    // MARK: - Writing

    /// Takes over a batch. It is written soon, together with others, in the order of the calls; failures are tried
    /// again.
    ///
    /// Beyond `pendingBytesMax` the health becomes `.overloaded`, and the host must stop. A host that does not stop
    /// reaches twice the bound: then the storage halts, this and all later batches are dropped, and since no later
    /// index counts as written, the next start replays them from the log.
    public func write(_ batch: StorageBatch) {
        let bytes = batch.bytes
        enum Next { case nothing, linger, flush, publish }
        let next: Next = state.update { state in
            guard !state.isClosed, state.halt == nil else { return .nothing }
            guard state.pendingBytes <= 2 * configuration.pendingBytesMax else {
                state.halt = StorageError(
                    .overflowed, "\(state.pendingBytes) bytes could not be written: \(state.failure?.message ?? "busy")"
                )
                return .publish
            }
            let wasOverloaded = state.isOverloaded
            if state.incoming.isEmpty { state.lingersUntil = .now + linger }
            state.incoming.append(batch)
            state.pendingBytes += bytes
            state.updateOverload(bytesMax: configuration.pendingBytesMax)
            if state.isOverloaded != wasOverloaded { return .publish }
            guard state.failure == nil else { return .nothing }
            guard !state.isFlushUrgent else { return .nothing }
            if state.pendingBytes >= configuration.lingerBytesMax {
                state.isFlushUrgent = true
                return .flush
            }
            guard !state.isTimerSet else { return .nothing }
            state.isTimerSet = true
            return .linger
        }
        switch next {
        case .nothing: break
        case .linger: writerThread.submit(after: linger, lingerJob)
        case .flush: writerThread.submit(flushJob)
        case .publish: writerThread.submit { [number] worker in worker.writers[number]?.publishHealth() }
        }
    }

    /// Each shard's is another one, up to half as long again, so that not all write at once, nor make their files of a day.
    private var linger: Duration { configuration.linger + configuration.linger * Int(number % 16) / 32 }

    /// Writes what has waited long enough. A batch that came later, because a read has had the rest written, waits for its own time.
    private var lingerJob: StorageThread.Job {
        { [self] worker in
            let rest: Duration? = state.withLock { state in
                let rest = state.incoming.isEmpty ? nil : max(.zero, state.lingersUntil - .now)
                state.isTimerSet = rest.map { $0 > .zero } ?? false
                return rest
            }
            guard let rest else { return }
            if rest > .zero { worker.thread.submit(after: rest, lingerJob) } else { flushJob(worker) }
        }
    }

    private var flushJob: StorageThread.Job {
        { [number] worker in
            // The writer has noted an error and tries again by itself.
            do throws(StorageError) { try worker.writers[number]?.flush(on: worker.thread) } catch {}
        }
    }

    /// Makes everything that was passed to `write` before durable, and returns the index up to which the log may be
    /// trimmed. To be called every few seconds.
    public func checkpoint(completion: @escaping @Sendable (Result<UInt64, StorageError>) -> Void) {
        withWriter(completion) { writer, worker in
            try writer.flush(on: worker.thread)
            return try writer.checkpoint(retryingOn: worker.thread).get()
        }
    }

    /// The cluster's level has risen, or was not known at the start: a node that joins hears of it later. Files that are written from now
    /// on become what it brings.
    public func use(_ level: FeatureLevel) {
        writerThread.submit { [number] worker in worker.writers[number]?.use(level) }
    }

    /// Removes the files of days whose last message has expired. To be called more often than hourly.
    public func removeExpiredFiles(completion: @escaping @Sendable (Result<Void, StorageError>) -> Void = { _ in }) {
        withWriter(completion) { writer, _ in try writer.removeExpiredFiles() }
    }

    // MARK: - Reading

    /// Loads everything that a room needs to be active.
    public func loadRoom(_ room: RoomID, completion: @escaping @Sendable (Result<LoadedRoom, StorageError>) -> Void) {
        withReads(completion, waitingMax: configuration.waitingLoadsMax) { [self] writer, done in
            let rows = try writer.load(room)
            let catalogue = rows.filter { $0.kind != CommandRows.kind }
            guard let record = catalogue.first(where: \.isOfLife) else {
                done(.success(LoadedRoom(catalogue: catalogue, tail: [], commands: [])))
                return
            }
            let cutoffs = configuration.cutoffs(room: configuration.visibleSince(record, configuration.now()))
            let files = writer.fileNames
            let task = TailTask(
                record.incarnation, files: files, cutoffs: cutoffs, earliest: cutoffs.of(.standard),
                rowsMax: configuration.hotTailRows, roomIndex: record.index,
                memorySeconds: configuration.commandMemorySeconds,
                kept: try CommandRows.commands(in: rows, of: record.incarnation),
                quotes: QuoteCheck(files: files, cutoffs: cutoffs, configuration))
            read(task, of: record.incarnation) { result in
                done(result.map { LoadedRoom(catalogue: catalogue, tail: $0.rows, commands: $0.commands) })
            }
        }
    }

    /// How often messages were asked for since it was opened, by `page`, `message` or `search`.
    public var historyReadCount: Int { historyReads.load(ordering: .relaxed) }

    func noteHistoryRead() { historyReads.add(1, ordering: .relaxed) }

    /// A page of a room's history.
    ///
    /// - Parameter reader: who asks, if it is a session: then it may fail with `.tooOften` and `.cancelled`.
    public func page(
        _ query: HistoryQuery, for reader: HistoryReader? = nil,
        completion: @escaping @Sendable (Result<StoredPage, StorageError>) -> Void
    ) {
        historyReads.add(1, ordering: .relaxed)
        withReads(completion, room: query.incarnation, reader: reader) { [self] writer, done in
            let task = PageTask(query, files: writer.fileNames, configuration, reader: reader, runs: typeRuns)
            read(task, of: query.incarnation, for: reader, done)
        }
    }

    /// One message; nil when there is none or it has expired.
    ///
    /// - Parameters:
    ///   - since: the oldest time that the room shows; nil: as long as its messages are kept.
    ///   - withCopies: with what it holds besides (`HistoryRow.copies`).
    ///   - reader: as in `page`.
    public func message(
        _ incarnation: Incarnation, seq: UInt64, visibleSince since: Timestamp? = nil, withCopies: Bool = false,
        for reader: HistoryReader? = nil, completion: @escaping @Sendable (Result<HistoryRow?, StorageError>) -> Void
    ) {
        historyReads.add(1, ordering: .relaxed)
        withReads(completion, room: incarnation, reader: reader) { [self] writer, done in
            let task = MessageTask(
                incarnation, seq: seq, withCopies: withCopies, files: writer.fileNames,
                cutoffs: configuration.cutoffs(room: since), configuration)
            read(task, of: incarnation, for: reader, done)
        }
    }

    /// The rows of a kind of which a room has one at most, in the order of room IDs, after `after`, at most `limit`.
    public func rooms(
        _ kind: CatalogueKind = .room, after: RoomID?, limit: Int,
        completion: @escaping @Sendable (Result<[CatalogueRow], StorageError>) -> Void
    ) {
        withReads(completion) { writer, done in
            done(.success(try writer.rooms(kind.rawValue, after: after, limit: max(0, limit))))
        }
    }

    /// How many rows there are of a kind of which a room has one at most.
    public func count(
        _ kind: CatalogueKind, completion: @escaping @Sendable (Result<Int, StorageError>) -> Void
    ) {
        withReads(completion) { writer, done in done(.success(try writer.count(kind.rawValue))) }
    }

    /// The earliest deadline of each room at or before `time`, and not before `first`, earliest first, of at most
    /// `limit` rooms.
    /// - Parameter writesFirst: false for one who asks again and again, about rooms of which nothing waits to be written:
    ///   what waits goes on waiting, and is not seen.
    public func dueDeadlines(
        from first: Timestamp = Timestamp(.min), at time: Timestamp, limit: Int, writesFirst: Bool = true,
        completion: @escaping @Sendable (Result<[DueDeadline], StorageError>) -> Void
    ) {
        withReads(completion, writesFirst: writesFirst) { writer, done in
            done(.success(try writer.due(from: first, at: time, limit: max(0, limit))))
        }
    }
}
