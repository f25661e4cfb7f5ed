import ChatModel
import Consensus
import Glibc
import SQLite

/// The writer thread's own state: the database and what is in it. Nothing of it is touched by another thread.
final class LogWriter {
    let configuration: LogStoreConfiguration
    let queue: Monitor<LogQueue>
    private(set) var home: any LogHome
    private let marks: MarksKeeper
    private let store: UInt64
    private(set) var logs: [GroupID: GroupEntries]
    private(set) var refusal: LogStoreError?
    /// The last commit failed, and no pause has passed since.
    private var hasFailed = false
    /// Groups whose marks were lowered for a transaction of which nobody knows whether a start would find it: its commit
    /// failed, and it may stand in the log all the same. Until a commit succeeds, which takes its place, the marks say only
    /// what is true either way.
    private var uncertain: Set<GroupID> = []

    /// When the last probe was.
    private var lastProbe = ContinuousClock.now
    /// When a commit was last synced.
    private var lastCommit: ContinuousClock.Instant?
    /// The last probe failed: the disk has less space than a probe takes, or none. Smaller saves may still succeed, which
    /// shows nothing for the next larger one; only a probe that succeeds ends this.
    private var probeHasFailed = false
    /// The files can't be tidied: the saved entries can't be brought from the write-ahead log to the database file, which
    /// then grows with every save, or a segment file can't be made. Only success ends this. It is tried again with the
    /// probes.
    private var tidyHasFailed = false

    private static let pauseAfterFailure = Duration.milliseconds(100)

    init(
        _ configuration: LogStoreConfiguration, queue: Monitor<LogQueue>, opening: LogOpening, marks: MarksKeeper
    ) {
        self.configuration = configuration
        self.queue = queue
        self.marks = marks
        home = opening.home
        store = opening.store
        logs = opening.logs
    }

    /// Serves the queue until the store is closed.
    func run() {
        while true {
            let turn = nextTurn()
            queue.withLock { $0.busySince = .now }
            defer { queue.withLock { $0.busySince = nil } }
            useSegmentsIfAsked()
            commit(turn)
            for request in turn.requests { request(self) }
            readSlice()
            tidyIfDue()
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
        let isIdle = refusal != nil || !(home.hasUpkeep || (home.isTidyDue && !tidyHasFailed))
        return queue.wait(atMost: max(.zero, probeInterval - (.now - lastProbe))) { queue in
            isIdle && !queue.isUrgent && queue.trims.isEmpty && (!queue.isConversionDue || refusal != nil)
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
        // The first one comes seconds after the log was opened; what has not been asked for by then is read from the files.
        home.startIsOver()
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
        do throws(SQLiteError) { try home.touch(logs) } catch {
            abandon(LogQueue.Turn(), Staged(), error, isInDoubt: true)
            return
        }
        onCommitted()
        // Also when it was not this that had failed: it needs the space that others do not.
        tidy()
        guard refusal == nil, !tidyHasFailed else { return }
        queue.withLock { $0.status.failure = nil }
    }

    private var isFailing: Bool { queue.withLock { $0.status.failure } != nil }

    // MARK: - Commit

    private struct Staged {
        var changes: [GroupID: GroupChange] = [:]
        var results: [Result<Void, LogStoreError>] = []
        var entries = 0
    }

    /// Saves, trims and a slice of deletions in one transaction, which is one sync. Either all that was accepted is on
    /// disk and in `logs`, or nothing is.
    private func commit(_ turn: LogQueue.Turn) {
        let hasUpkeep = home.hasUpkeep && !hasFailed
        guard !turn.saves.isEmpty || !turn.trims.isEmpty || hasUpkeep, refusal == nil else {
            answer(turn.saves, turn.saves.map { _ in refusal.map { .failure($0) } ?? .success(()) })
            return
        }
        let clock = ContinuousClock()
        let start = clock.now
        var staged = Staged()
        var isCommitting = false
        stage(turn, &staged)
        do throws(SQLiteError) {
            try home.prepare(&staged.changes, logs, isBare: hasFailed)
            try lowerMarks(staged)
            if configuration.syncDelayMicroseconds > 0 { usleep(configuration.syncDelayMicroseconds) }
            isCommitting = true
            try home.commit()
        } catch {
            abandon(turn, staged, error, isInDoubt: isCommitting)
            return
        }
        hasFailed = false
        adopt(staged)
        onCommitted()
        let duration = clock.now - start
        queue.withLock { queue in
            queue.status.syncs += 1
            queue.status.entries += UInt64(staged.entries)
            queue.status.lastSyncDuration = duration
            queue.status.uselessEntries = home.uselessEntries
            if !probeHasFailed, !tidyHasFailed { queue.status.failure = nil }
        }
        answer(turn.saves, staged.results)
        configuration.onSync(duration, staged.entries)
    }

    /// All doubts are decided: what had failed has been written over.
    private func onCommitted() {
        lastCommit = .now
        for group in uncertain {
            if let log = logs[group], !log.isNew { marks.note(group, log.mark) }
        }
        uncertain = []
    }

    private func stage(_ turn: LogQueue.Turn, _ staged: inout Staged) {
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
                apply(save, to: &change, &staged)
                staged.results.append(.success(()))
            }
            staged.changes[save.group] = change
        }
        for (group, index) in turn.trims where logs[group] != nil {
            staged.changes[group, default: GroupChange(log(group))].trim(through: index)
        }
    }

    /// The group's log; an empty one for a group that has never saved anything.
    private func log(_ group: GroupID) -> GroupEntries {
        if let log = logs[group] { return log }
        let log = GroupEntries()
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

    private func apply(_ save: GroupSave, to change: inout GroupChange, _ staged: inout Staged) {
        if let hardState = save.hardState { change.set(hardState) }
        if let snapshot = save.snapshot { change.install(snapshot) }
        if let from = save.truncateFrom { change.truncate(from: from) }
        change.append(save.entries)
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
        for (group, change) in staged.changes {
            let gone = change.adopt()
            home.adopt(group, places: change.places, cut: gone.cut, trimmed: gone.trimmed)
            let log = log(group)
            log.isNew = false
            marks.note(group, log.mark)
        }
        home.didAdopt(logs)
    }

    /// The transaction failed: nothing of it counts.
    ///
    /// - Parameter isInDoubt: all of it may stand in the log, so that a start would take it for committed.
    private func abandon(_ turn: LogQueue.Turn, _ staged: Staged, _ error: SQLiteError, isInDoubt: Bool) {
        hasFailed = true
        lastProbe = .now
        var failure = LogStoreError(error)
        do throws(SQLiteError) {
            try home.undo()
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
                uncertain.insert(group)
            } else if !uncertain.contains(group), let log = logs[group], !log.isNew {
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

    // MARK: - Conversion

    /// The table is left for segments: what comes is written there, and what is in the table is copied, a slice with each
    /// transaction. After a failure it is tried again.
    private func useSegmentsIfAsked() {
        guard !hasFailed, refusal == nil, queue.withLock({ $0.isConversionDue }) else { return }
        guard let former = home as? TableHome else {
            queue.withLock { $0.isConversionDue = false }
            return
        }
        var isEnding = false
        do throws(SQLiteError) {
            // Files of segments that are there are none of this log's: it has had no segment.
            for number in try SegmentFile.numbers(in: configuration.directory) {
                try PlainFile.remove(SegmentFile.path(number, configuration.directory), vfs: configuration.vfs)
            }
            let segments = try SegmentHome(configuration, store: store, table: former.table, logs: logs)
            isEnding = true
            try former.end()
            home = segments
            queue.withLock { $0.isConversionDue = false }
        } catch {
            abandon(LogQueue.Turn(), Staged(), error, isInDoubt: isEnding)
        }
    }

    // MARK: - Checkpoint and end

    /// Between commits, after their completions, so that it delays at most the next save. A failed step waits for the
    /// next probe: it would do everything again to fail in the same place.
    private func tidyIfDue() {
        guard refusal == nil, !tidyHasFailed, home.isTidyDue else { return }
        tidy()
    }

    private func tidy() {
        do throws(SQLiteError) {
            try home.tidy()
            tidyHasFailed = false
        } catch  where error.code == .syncFailed || error.code == .corrupt {
            refuse(
                LogStoreError(
                    .restartNeeded,
                    "The disk did not take the log: \(error.message). Check the disk and restart the node."))
        } catch {
            // A full disk: the log keeps everything and grows.
            tidyHasFailed = true
            let failure = LogStoreError(error)
            queue.withLock { $0.status.failure = failure }
        }
    }

    private func close() {
        marks.stop()
        home.close(isTrusted: refusal == nil)
        let left = queue.update { queue in
            queue.isClosed = true
            defer { queue.reads = Fifo() }
            return (reads: queue.reads, requests: queue.requests)
        }
        for read in left.reads { read.completion(.failure(LogStoreError(.closed, "the log was closed"))) }
        for request in left.requests { request(self) }
    }
}
