import Consensus
import SQLite

/// Writes the marks file from a thread of its own, so that its syncs delay no save: at once after a pause, then at most
/// once an interval. Where the log is about to become shorter it is written before.
///
/// So what the log forgets is found out unless the marks had not come so far: they are behind by at most an interval
/// and the time of one write. A record per commit would leave no such gap, for a second sync per commit. What the gap
/// lets pass is a loss that begins in it and reaches to the end of the log (`WriteAheadLogCheck` finds all others): the
/// disk must lose, within that second, what it had reported as synced, and the process must end within it too.
final class MarksKeeper: Sendable {
    private struct State: Sendable {
        var marks: Marks
        var isDirty = false
        var isStopping = false
        var hasStopped = false
        var failure: SQLiteError?
    }

    private let path: String
    private let interval: Duration
    private let state: Monitor<State>
    /// Held while the file is written, so that an older state never replaces a newer one. The value is the number of
    /// writes.
    private let file = Monitor(0)

    init(path: String, marks: Marks, interval: Duration) {
        self.path = path
        self.interval = max(interval, .milliseconds(1))
        state = Monitor(State(marks: marks))
    }

    func start() {
        startDatabaseThread("log-marks", isInBackground: true) { self.run() }
    }

    private func run() {
        while true {
            let isStopping = state.wait { $0.isStopping ? true : $0.isDirty ? false : nil }
            if state.withLock({ $0.isDirty }) {
                // A failure leaves the older marks, which are true as well; the next interval tries again.
                do throws(SQLiteError) { try write() } catch { state.withLock { $0.failure = error } }
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

    /// The group's log is about to end at `mark`. When this returns, the file no longer claims more.
    func lower(_ group: GroupID, to mark: Marks.Mark) throws(SQLiteError) {
        let isLower = state.withLock { state in
            guard let old = state.marks.groups[group], old.last.index > mark.last.index else { return false }
            state.marks.groups[group] = mark
            state.isDirty = true
            return true
        }
        if isLower { try write() }
    }

    /// Writes the marks as they are now.
    func write() throws(SQLiteError) {
        let failure: SQLiteError? = file.withLock { writes in
            let marks = state.withLock { state in
                state.isDirty = false
                return state.marks
            }
            do throws(SQLiteError) {
                try FileSystem.replace(path, with: marks.encoded())
                writes += 1
                return nil
            } catch {
                state.withLock { $0.isDirty = true }
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Writes what is left and ends the thread.
    func stop() {
        state.update { $0.isStopping = true }
        state.wait { $0.hasStopped ? true : nil }
    }
}
