import Consensus
import SQLite

/// Writes the marks file from a thread of its own, so that its syncs delay no save: at once after a pause, then at most
/// once an interval. Where the log is about to become shorter it is written before.
///
/// So what the log forgets is found out unless the marks had not come so far: they are behind by at most an interval
/// and the time of one write. A record per commit would leave no such gap, for a second sync per commit. The gap lets
/// pass a loss that begins in it and reaches to the end of the log (`WriteAheadLogCheck` finds all others): the disk
/// must lose, within that second, what it had reported as synced, and the process must end within it too.
final class MarksKeeper: Sendable {
    private struct State: Sendable {
        var marks: Marks
        /// The last entry that the file may claim of each group, whatever has become of writes that failed.
        var claims: [GroupID: UInt64]
        var isDirty = false
        var isStopping = false
        var hasStopped = false
    }

    private let path: String
    private let files: any FileSteps
    private let interval: Duration
    /// Called after every write, by whoever has tried: why it failed, if it did.
    private let onWrite: @Sendable (LogStoreError?) -> Void
    private let state: Monitor<State>
    /// Held while the file is written, so that an older state never replaces a newer one. The value is the number of
    /// writes.
    private let file = Monitor(0)

    /// - Parameters:
    ///   - marks: as the log is; the file was found to claim no more than that.
    init(
        path: String, marks: Marks, interval: Duration, files: any FileSteps = SystemFiles(),
        onWrite: @escaping @Sendable (LogStoreError?) -> Void = { _ in }
    ) {
        self.path = path
        self.onWrite = onWrite
        self.files = files
        self.interval = max(interval, .milliseconds(1))
        state = Monitor(State(marks: marks, claims: marks.groups.mapValues(\.last.index)))
    }

    func start() {
        startDatabaseThread("log-marks", isInBackground: true) { self.run() }
    }

    private func run() {
        while true {
            let isStopping = state.wait { $0.isStopping ? true : $0.isDirty ? false : nil }
            if state.withLock({ $0.isDirty }) {
                // A failure has been told. It leaves the older marks, which are true as well; the next interval tries
                // again.
                do throws(SQLiteError) { try write() } catch {}
            }
            if isStopping {
                state.update { $0.hasStopped = true }
                return
            }
            _ = state.wait(atMost: interval) { $0.isStopping ? true : nil }
        }
    }

    /// The group's log has come so far on disk.
    func note(_ group: GroupID, _ mark: Marks.Mark) {
        let isFirst = state.withLock { state in
            guard state.marks.groups[group] != mark else { return false }
            state.marks.groups[group] = mark
            defer { state.isDirty = true }
            return !state.isDirty
        }
        // The thread waits for the first change only.
        if isFirst { state.update { _ in } }
    }

    /// The group's log is about to have only what it had up to `mark` in common with what it was. When this returns, no
    /// crash brings back a file that claims more.
    func lower(_ group: GroupID, to mark: Marks.Mark) throws(SQLiteError) {
        let (isClaimed, former) = state.withLock { state in
            let former = state.marks.groups[group]
            if let former, former.last.index > mark.last.index { state.marks.groups[group] = mark }
            return (state.claims[group, default: 0] > mark.last.index, former)
        }
        guard isClaimed else { return }
        do throws(SQLiteError) {
            try write()
        } catch {
            // The log stays as it is.
            state.withLock { if let former { $0.marks.groups[group] = former } }
            throw error
        }
    }

    /// Writes the marks as they are now. After an error either the former file is found after a crash or this one, and
    /// the thread tries again.
    func write() throws(SQLiteError) {
        let failure: SQLiteError? = file.withLock { writes in
            let marks = state.withLock { state in
                state.isDirty = false
                for (group, mark) in state.marks.groups {
                    state.claims[group] = max(state.claims[group] ?? 0, mark.last.index)
                }
                return state.marks
            }
            do throws(SQLiteError) {
                try FileSystem.replace(path, with: marks.encoded(), by: files)
                state.withLock { $0.claims = marks.groups.mapValues(\.last.index) }
                writes += 1
                return nil
            } catch {
                // Wakes the thread, whoever has tried.
                state.update { $0.isDirty = true }
                // The log's own file can't, but this one can be written anew.
                let code = error.code == .syncFailed ? .io : error.code
                return SQLiteError(code: code, message: "the log's marks: \(error.message)")
            }
        }
        onWrite(failure.map { LogStoreError($0) })
        if let failure { throw failure }
    }

    /// Writes what is left and ends the thread.
    func stop() {
        state.update { $0.isStopping = true }
        state.wait { $0.hasStopped ? true : nil }
    }
}
