import SQLite

/// A thread that runs jobs in order, and later ones when their time has come.
final class StorageThread: Sendable {
    typealias Job = @Sendable (StorageWorker) -> Void

    private struct State: Sendable {
        var jobs: [Job] = []
        /// One per shard that lingers or tries again: when they are due, the next one first, and what is done then.
        var dues: [ContinuousClock.Instant] = []
        var timers: [Job] = []
        var isStopping = false
        var hasStopped = false
    }

    private let state = Monitor(State())

    /// - Parameter isInBackground: see `startDatabaseThread`.
    init(_ name: String, isInBackground: Bool = false) {
        startDatabaseThread(name, isInBackground: isInBackground) { self.run() }
    }

    /// Runs `job` after those that wait. False after `stop`: it is not run then.
    @discardableResult
    func submit(_ job: @escaping Job) -> Bool {
        state.update { state in
            if !state.isStopping { state.jobs.append(job) }
            return !state.isStopping
        }
    }

    func submit(after delay: Duration, _ job: @escaping Job) {
        let due = ContinuousClock.now + delay
        let isNext = state.withLock { state in
            guard !state.isStopping else { return false }
            var place = state.dues.count
            while place > 0, state.dues[place - 1] > due { place -= 1 }
            state.dues.insert(due, at: place)
            state.timers.insert(job, at: place)
            return place == 0
        }
        // The thread sleeps until the next timer: another one wakes it for nothing.
        if isNext { state.update { _ in } }
    }

    /// Jobs whose time has not come.
    var timerCount: Int { state.withLock { $0.dues.count } }

    /// The value of a job that was asked for.
    struct Asked<Value: Sendable>: Sendable {
        /// nil: the thread has ended.
        fileprivate let answer: Monitor<Value??>?

        /// Blocks; not from a storage thread of the same pool, except as said where it was asked.
        func wait() -> Value? { answer?.wait { $0 } }
    }

    /// Has `job` run, for somebody who waits for its value later.
    func begin<Value: Sendable>(_ job: @escaping @Sendable (StorageWorker) -> Value) -> Asked<Value> {
        let answer = Monitor<Value??>(nil)
        let isAsked = state.update { state in
            guard !state.isStopping else { return false }
            state.jobs.append { worker in
                let value = job(worker)
                answer.update { $0 = .some(value) }
            }
            return true
        }
        return Asked(answer: isAsked ? answer : nil)
    }

    /// Runs `job` and returns its value. Blocks; not from a storage thread of the same pool, except as said there.
    func ask<Value: Sendable>(_ job: @escaping @Sendable (StorageWorker) -> Value) -> Value? { begin(job).wait() }

    /// Ends the thread after the jobs that wait; timers are dropped. Blocks.
    func stop() {
        state.update { $0.isStopping = true }
        state.wait { $0.hasStopped ? true : nil }
    }

    private func run() {
        let worker = StorageWorker(thread: self)
        while true {
            let jobs = nextJobs()
            guard !jobs.isEmpty else { break }
            for job in jobs { job(worker) }
        }
        worker.close()
        state.update { $0.hasStopped = true }
    }

    /// Waits for jobs; none: the thread has been stopped.
    private func nextJobs() -> [Job] {
        while true {
            let next = state.withLock { state in state.dues.first }
            let timeout = next.map { max(.zero, $0 - .now) } ?? .seconds(3600)
            let jobs: [Job]? = state.wait(atMost: timeout) { state in
                var jobs: [Job] = []
                swap(&jobs, &state.jobs)
                if let due = state.dues.first {
                    let now = ContinuousClock.now
                    let count = state.dues.prefix { $0 <= now }.count
                    jobs += state.timers.prefix(count)
                    state.dues.removeFirst(count)
                    state.timers.removeFirst(count)
                    // A timer may have come that is due before the time waited for.
                    if jobs.isEmpty, next.map({ due < $0 }) ?? true { return jobs }
                }
                return jobs.isEmpty && !state.isStopping ? nil : jobs
            }
            guard let jobs else { continue }
            if !jobs.isEmpty || state.withLock({ $0.isStopping }) { return jobs }
        }
    }
}

/// Memory of one storage thread for rows that it is writing.
final class RowSpace {
    private var rows = HistoryRows()

    private static let bytesMax = 1 << 20

    /// Shows all rows of some batches behind each other.
    func withRows<Value>(
        of batches: some Sequence<HistoryRows>, _ body: (HistoryRows, UnsafeRawBufferPointer) throws -> Value
    ) rethrows -> Value {
        var rows = HistoryRows()
        swap(&rows, &self.rows)
        rows.removeAll()
        for batch in batches { rows.append(batch) }
        defer { if rows.capacity <= Self.bytesMax { self.rows = rows } }
        return try rows.bytes.withUnsafeBytes { try body(rows, $0) }
    }
}

/// The state that one storage thread owns: the shards that write on it and the files that are open for reading on it.
final class StorageWorker {
    let thread: StorageThread
    /// Rows that are being written: memory that is there already costs no page faults.
    let rows = RowSpace()
    var writers: [UInt64: ShardWriter] = [:]
    let readers = ReaderCache()
    let indexes = SearchReaderCache()
    var indexers: [UInt64: SearchIndexer] = [:]
    /// Catalogues that are being read, by `SnapshotReader`'s number.
    var snapshots: [UInt64: CatalogueReader] = [:]
    var audit: AuditTable?
    /// While its rows are taken.
    var formerAudit: FormerAudit?

    init(thread: StorageThread) { self.thread = thread }

    /// Closes the snapshots of a storage.
    func closeSnapshots(of storage: UInt64) {
        for (number, reader) in snapshots where reader.storage == storage {
            snapshots[number] = nil
            reader.close()
        }
    }

    func close() {
        for indexer in indexers.values { indexer.close(self) }
        indexers = [:]
        for writer in writers.values { writer.close() }
        writers = [:]
        for snapshot in snapshots.values { snapshot.close() }
        snapshots = [:]
        readers.closeAll()
        indexes.closeAll()
        formerAudit?.close()
        formerAudit = nil
        audit?.close()
        audit = nil
    }
}
