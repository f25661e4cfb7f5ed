import ChatModel
import Consensus
import Glibc
import SQLite

/// The writer thread's own state: the database and what is in it. Nothing of it is touched by another thread.
final class LogWriter {
    private let configuration: LogStoreConfiguration
    private let queue: Monitor<LogQueue>
    private let table: LogTable
    private let marks: MarksKeeper
    private var logs: [GroupID: GroupLog]
    /// Trimmed rows to delete when there is time.
    private var useless: Fifo<Int64>
    private var lastRow: Int64
    private var refusal: LogStoreError?
    /// The last commit failed, and no pause has passed since.
    private var hasFailed = false
    /// A failed transaction may have left frames behind the end of the write-ahead log. Before the next commit the log
    /// is emptied: they would look like transactions that were saved after a damaged one (see `WriteAheadLogCheck`).
    private var hasLeftovers = false

    /// Groups whose marks were lowered for a transaction of which nobody knows whether a start would find it: its commit
    /// failed, and its frames may stand in the write-ahead log. Until a commit succeeds, which begins by emptying that log,
    /// the marks say only what is true either way.
    private var doubtful: Set<GroupID> = []

    /// When the last probe was.
    private var lastProbe = ContinuousClock.now
    /// When a commit was last synced.
    private var lastCommit: ContinuousClock.Instant?
    /// The last probe failed: the disk has less space than a probe takes, or none. Smaller saves may still succeed, which
    /// shows nothing for the next larger one; only a probe that succeeds ends this.
    private var probeHasFailed = false
    /// The saved entries can't be brought from the write-ahead log to the database file. That log then grows with every
    /// save; only a checkpoint that succeeds ends this. It is tried again with the probes.
    private var checkpointHasFailed = false

    private static let pauseAfterFailure = Duration.milliseconds(100)
    /// Rows that one idle transaction deletes: about a millisecond, by which it may delay a save.
    private static let idleSliceRows = 512
    /// Bytes of older entries that are read between two commits.
    private static let readSliceBytes = 256 << 10

    init(
        _ configuration: LogStoreConfiguration, queue: Monitor<LogQueue>, opening: LogOpening, marks: MarksKeeper
    ) {
        self.configuration = configuration
        self.queue = queue
        self.marks = marks
        table = opening.table
        logs = opening.logs
        useless = Fifo(opening.useless)
        lastRow = opening.lastRow
    }

    /// Serves the queue until the store is closed.
    func run() {
        while true {
            let turn = nextTurn()
            commit(turn)
            for request in turn.requests { request(self) }
            readSlice()
            checkpointIfDue()
            probeIfDue()
            if turn.isClosing {
                close()
                return
            }
        }
    }

    /// Waits for something to do. After a failed commit, housekeeping pauses while nobody saves: on a full disk it
    /// would fail again and again.
    private func nextTurn() -> LogQueue.Turn {
        if hasFailed {
            let turn = queue.wait(atMost: Self.pauseAfterFailure) { queue in
                queue.isUrgent
                    ? queue.nextTurn(bytesMax: configuration.transactionBytesMax, withTrims: queue.isClosing) : nil
            }
            if let turn { return turn }
            hasFailed = false
        }
        let isIdle = useless.isEmpty || refusal != nil
        return queue.wait(atMost: max(.zero, probeInterval - (.now - lastProbe))) { queue in
            isIdle && !queue.isUrgent && queue.trims.isEmpty
                ? nil : queue.nextTurn(bytesMax: configuration.transactionBytesMax, withTrims: true)
        } ?? LogQueue.Turn()
    }

    // MARK: - Probes

    private static let probeBytes = 64 << 10
    private static let probeIntervalAfterFailure = Duration.seconds(1)

    private var probeInterval: Duration {
        if refusal != nil { return .seconds(3_600) }
        return isFailing ? Self.probeIntervalAfterFailure : configuration.probeInterval
    }

    /// A disk that fails says so to who writes, and a full one does not: the write-ahead log writes over its own bytes, for
    /// which there is always space. So a probe is written, whether there are saves or not: a new file each time. Where
    /// commits show that the disk syncs, the probe only asks for space and is not synced, so it delays no save. After a
    /// failure the log itself has to take something, too.
    private func probeIfDue() {
        let interval = probeInterval
        guard refusal == nil, .now - lastProbe >= interval else { return }
        lastProbe = .now
        let path = LogOpening.probePath(configuration.directory)
        let bytes = [UInt8](repeating: 0x55, count: Self.probeBytes)
        do throws(SQLiteError) {
            // Before anything else: what is left of one that failed takes space.
            try configuration.files.remove(path)
            if !isFailing, let lastCommit, .now - lastCommit < interval {
                try configuration.files.writeUnsynced(bytes, to: path)
            } else {
                try configuration.files.write(bytes, to: path)
            }
            try configuration.files.remove(path)
        } catch {
            do throws(SQLiteError) { try configuration.files.remove(path) } catch {}
            probeHasFailed = true
            let failure = LogStoreError(error)
            queue.withLock { $0.status.failure = failure }
            return
        }
        probeHasFailed = false
        guard isFailing else { return }
        var isCommitting = false
        do throws(SQLiteError) {
            if hasLeftovers { try removeLeftovers() }
            try table.database.begin()
            try table.touch()
            isCommitting = true
            try table.database.commit()
        } catch {
            abandon(LogQueue.Turn(), Staged(lastRow: lastRow), error, isInDoubt: isCommitting)
            return
        }
        hasCommitted()
        // Also when it was not the checkpoint that had failed: it needs the space that others do not.
        checkpoint(.passive)
        guard refusal == nil, !checkpointHasFailed else { return }
        queue.withLock { $0.status.failure = nil }
    }

    private var isFailing: Bool { queue.withLock { $0.status.failure } != nil }

    // MARK: - Commit

    private struct Staged {
        var changes: [GroupID: GroupChange] = [:]
        var results: [Result<Void, LogStoreError>] = []
        var entries = 0
        var deleted = 0
        var lastRow: Int64
    }

    /// Saves, trims and a slice of deletions in one transaction, which is one sync. Either all that was accepted is on
    /// disk and in `logs`, or nothing is.
    private func commit(_ turn: LogQueue.Turn) {
        let hasUseless = !useless.isEmpty && !hasFailed
        guard !turn.saves.isEmpty || !turn.trims.isEmpty || hasUseless, refusal == nil else {
            answer(turn.saves, turn.saves.map { _ in refusal.map { .failure($0) } ?? .success(()) })
            return
        }
        let clock = ContinuousClock()
        let start = clock.now
        var staged = Staged(lastRow: lastRow)
        var isCommitting = false
        do throws(SQLiteError) {
            if hasLeftovers { try removeLeftovers() }
            try table.database.begin()
            try stage(turn, &staged)
            try lowerMarks(staged)
            if configuration.syncDelayMicroseconds > 0 { usleep(configuration.syncDelayMicroseconds) }
            isCommitting = true
            try table.database.commit()
        } catch {
            abandon(turn, staged, error, isInDoubt: isCommitting)
            return
        }
        hasFailed = false
        adopt(staged)
        hasCommitted()
        let duration = clock.now - start
        queue.withLock { queue in
            queue.status.syncs += 1
            queue.status.entries += UInt64(staged.entries)
            queue.status.lastSyncDuration = duration
            queue.status.uselessEntries = useless.count
            if !probeHasFailed, !checkpointHasFailed { queue.status.failure = nil }
        }
        answer(turn.saves, staged.results)
        configuration.onSync(duration, staged.entries)
    }

    /// All doubts are decided: the write-ahead log has been written anew, and holds nothing that failed.
    private func hasCommitted() {
        lastCommit = .now
        for group in doubtful {
            if let log = logs[group], !log.isNew { marks.note(group, log.mark) }
        }
        doubtful = []
    }

    private func removeLeftovers() throws(SQLiteError) {
        guard try table.database.checkpoint(.truncate).isComplete else {
            throw SQLiteError(code: .busy, message: "the write-ahead log cannot be emptied")
        }
        hasLeftovers = false
    }

    private func stage(_ turn: LogQueue.Turn, _ staged: inout Staged) throws(SQLiteError) {
        var failed = queue.withLock { $0.failed }
        for waiting in turn.saves {
            let save = waiting.save
            guard !failed.contains(save.group) else {
                staged.results.append(.failure(.afterFailure(of: save.group)))
                continue
            }
            var change = staged.changes[save.group] ?? GroupChange(log(save.group))
            // So that the entries are appended in place and not to a copy.
            staged.changes[save.group] = nil
            if let objection = Self.objection(to: save, after: change) {
                failed.insert(save.group)
                queue.withLock { _ = $0.failed.insert(save.group) }
                staged.results.append(.failure(objection))
            } else {
                try apply(save, to: &change, &staged)
                staged.results.append(.success(()))
            }
            staged.changes[save.group] = change
        }
        for (group, index) in turn.trims where logs[group] != nil {
            staged.changes[group, default: GroupChange(log(group))].trim(through: index)
        }
        for (group, change) in staged.changes where change.isStateChanged || log(group).isNew {
            try table.write(change.state, group: group)
        }
        // Twice as many as come in, so that the table does not grow under load; more when nothing comes in.
        guard !hasFailed else { return }
        let slice = staged.entries == 0 ? Self.idleSliceRows : min(Self.idleSliceRows, max(16, 2 * staged.entries))
        while staged.deleted < slice, staged.deleted < useless.count {
            try table.delete(row: useless[staged.deleted])
            staged.deleted += 1
        }
    }

    /// The group's log; an empty one for a group that has never saved anything.
    private func log(_ group: GroupID) -> GroupLog {
        if let log = logs[group] { return log }
        let log = GroupLog()
        log.isNew = true
        logs[group] = log
        return log
    }

    private static func objection(to save: GroupSave, after change: GroupChange) -> LogStoreError? {
        var lastIndex = change.lastIndex
        var trimmed = change.state.trimmed.index
        if let snapshot = save.snapshot, snapshot.index > trimmed, change.term(at: snapshot.index) != snapshot.term {
            lastIndex = snapshot.index
            trimmed = snapshot.index
        }
        func refuse(_ what: String) -> LogStoreError {
            LogStoreError(.outOfOrder, "group \(save.group.number): \(what)")
        }
        if let from = save.truncateFrom {
            guard from > trimmed else { return refuse("cut at \(from), below the trimmed entry \(trimmed)") }
            // A caller that cuts behind the end takes entries for saved whose save has failed.
            guard from <= lastIndex + 1 else { return refuse("cut at \(from), behind the last entry \(lastIndex)") }
            lastIndex = min(lastIndex, from - 1)
        }
        for entry in save.entries {
            guard lastIndex < .max - 1, entry.index == lastIndex + 1 else {
                return refuse("entry \(entry.index) does not follow \(lastIndex)")
            }
            lastIndex = entry.index
        }
        return nil
    }

    private func apply(_ save: GroupSave, to change: inout GroupChange, _ staged: inout Staged) throws(SQLiteError) {
        if let hardState = save.hardState { change.set(hardState) }
        if let snapshot = save.snapshot {
            for row in change.install(snapshot) { try table.delete(row: row) }
        }
        if let from = save.truncateFrom {
            for row in change.truncate(from: from) { try table.delete(row: row) }
        }
        for entry in save.entries {
            staged.lastRow += 1
            try table.insert(entry, group: save.group, row: staged.lastRow)
            change.append(entry, row: staged.lastRow)
        }
        staged.entries += save.entries.count
    }

    /// A log that loses entries must not be found to contradict its marks, whether or not a crash comes before the commit;
    /// so they are lowered first, to what it has in common with what it will be.
    private func lowerMarks(_ staged: Staged) throws(SQLiteError) {
        for (group, change) in staged.changes {
            guard let last = change.unchangedThrough else { continue }
            let hardState = log(group).state.hardState
            try marks.lower(group, to: Marks.Mark(term: hardState.term, vote: hardState.votedFor, last: last))
        }
    }

    private func adopt(_ staged: Staged) {
        for _ in 0..<staged.deleted { useless.removeFirst() }
        if useless.isEmpty { useless = Fifo() }
        lastRow = staged.lastRow
        for (group, change) in staged.changes {
            useless.append(contentsOf: change.adopt())
            let log = log(group)
            log.isNew = false
            marks.note(group, log.mark)
        }
    }

    /// The transaction failed: nothing of it counts.
    ///
    /// - Parameter isInDoubt: all of it may stand in the write-ahead log, so that a start would take it for committed.
    private func abandon(_ turn: LogQueue.Turn, _ staged: Staged, _ error: SQLiteError, isInDoubt: Bool) {
        hasFailed = true
        lastProbe = .now
        hasLeftovers = true
        var failure = LogStoreError(error)
        do throws(SQLiteError) {
            try table.database.rollback()
        } catch {
            failure = LogStoreError(.restartNeeded, "the transaction could not be undone: \(error.message)")
        }
        switch failure.code {
        case .restartNeeded, .corrupt:
            // After a failed sync the kernel drops the pages that it could not write and still shows them to readers,
            // so reopening and verifying here would prove nothing. The next start of the process brings everything
            // that it reads to the disk again before it relies on it (see `LogOpening`).
            refuse(
                LogStoreError(
                    .restartNeeded,
                    "The disk did not take the log: \(failure.message). Check the disk and restart the node."))
            failure = refusal ?? failure
        default:
            queue.withLock { $0.status.failure = failure }
        }
        queue.withLock { queue in
            // Trims are repeated, because nobody waits for them.
            queue.trims.merge(turn.trims) { max($0, $1) }
            queue.failed.formUnion(turn.saves.map(\.save.group))
        }
        for (group, change) in staged.changes where change.unchangedThrough != nil {
            if isInDoubt {
                doubtful.insert(group)
            } else if !doubtful.contains(group), let log = logs[group], !log.isNew {
                // The claims that were lowered for it are as they were.
                marks.note(group, log.mark)
            }
        }
        answer(turn.saves, turn.saves.map { _ in .failure(failure) })
    }

    private func refuse(_ error: LogStoreError) {
        refusal = error
        queue.withLock { queue in
            queue.refusal = error
            queue.status.failure = error
        }
    }

    private func answer(_ saves: [LogQueue.Save], _ results: [Result<Void, LogStoreError>]) {
        for (save, result) in zip(saves, results) { save.completion(result) }
    }

    // MARK: - Reading

    /// Serves the oldest waiting read for a bounded time, so that commits come in between.
    private func readSlice() {
        guard var read = queue.withLock({ $0.reads.isEmpty ? nil : $0.reads.removeFirst() }) else { return }
        guard let log = logs[read.group], read.next >= log.firstIndex, read.next <= log.lastIndex else {
            read.completion(
                .failure(
                    LogStoreError(
                        .unavailable, "entry \(read.next) of group \(read.group.number) is not in the log")))
            return
        }
        var sliceBytes = 0
        do throws(LogStoreError) {
            while read.next <= min(read.through, log.lastIndex) {
                let entry = try entry(read.next, read.group, log)
                guard read.entries.isEmpty || entry.payload.count <= read.bytesLeft else { break }
                read.entries.append(entry)
                read.bytesLeft -= entry.payload.count
                read.next += 1
                sliceBytes += 64 + entry.payload.count
                if sliceBytes >= Self.readSliceBytes, read.next <= read.through, read.bytesLeft > 0 {
                    let rest = read
                    queue.withLock { $0.reads.append(rest) }
                    return
                }
            }
        } catch {
            read.completion(.failure(error))
            return
        }
        read.completion(.success(read.entries))
    }

    private func entry(_ index: UInt64, _ group: GroupID, _ log: GroupLog) throws(LogStoreError) -> Entry {
        guard let row = log.row(at: index) else {
            throw LogStoreError(.unavailable, "entry \(index) of group \(group.number) is not in the log")
        }
        let found: Entry?
        do throws(SQLiteError) {
            found = try table.entry(row: row, group: group)
        } catch {
            throw LogStoreError(error)
        }
        guard let found, found.index == index else {
            throw LogStoreError(.corrupt, "entry \(index) of group \(group.number) does not match its checksum")
        }
        return found
    }

    /// The state of a group on disk. From here on its saves are taken again, if one had failed.
    func stored(_ group: GroupID) -> Result<StoredGroup, LogStoreError> {
        queue.withLock { _ = $0.failed.remove(group) }
        let log = logs[group] ?? GroupLog()
        var recent: [Entry] = []
        var memberships: [Entry] = []
        var bytes = 0
        var index = log.lastIndex
        do throws(LogStoreError) {
            while index >= log.firstIndex {
                let entry = try entry(index, group, log)
                bytes += entry.payload.count
                guard bytes <= configuration.recentBytesPerGroup else { break }
                recent.append(entry)
                index -= 1
            }
            for older in log.memberships where older <= index { memberships.append(try entry(older, group, log)) }
        } catch {
            return .failure(error)
        }
        recent.reverse()
        return .success(
            StoredGroup(
                hardState: log.state.hardState, snapshot: log.state.snapshot, trimmed: log.state.trimmed,
                firstIndex: log.firstIndex, lastIndex: log.lastIndex, terms: log.terms, memberships: memberships,
                recent: recent))
    }

    /// The groups that have saved anything.
    var groups: [GroupID] { logs.filter { !$0.value.isNew }.keys.sorted() }

    // MARK: - Checkpoint and end

    /// Between commits, after their completions, so that it delays at most the next save. One that has failed waits for
    /// the next probe: it would copy everything again to fail in the same place.
    private func checkpointIfDue() {
        guard refusal == nil, !checkpointHasFailed,
            table.database.writeAheadLogPages >= configuration.checkpointPages
        else { return }
        checkpoint(.passive)
    }

    private func checkpoint(_ mode: Database.CheckpointMode) {
        do throws(SQLiteError) {
            _ = try table.database.checkpoint(mode)
            checkpointHasFailed = false
        } catch  where error.code == .syncFailed || error.code == .corrupt {
            refuse(
                LogStoreError(
                    .restartNeeded,
                    "The disk did not take the log: \(error.message). Check the disk and restart the node."))
        } catch {
            // A full disk: the write-ahead log keeps everything and grows.
            checkpointHasFailed = true
            let failure = LogStoreError(error)
            queue.withLock { $0.status.failure = failure }
        }
    }

    private func close() {
        if refusal == nil { checkpoint(.truncate) }
        marks.stop()
        table.database.close()
        let left = queue.update { queue in
            queue.isClosed = true
            defer { queue.reads = [] }
            return (reads: queue.reads, requests: queue.requests)
        }
        for read in left.reads { read.completion(.failure(LogStoreError(.closed, "the log was closed"))) }
        for request in left.requests { request(self) }
    }
}
