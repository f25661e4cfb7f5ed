import ChatModel
import SQLite

/// A thread that reads and writes content: files block, and loops must not. Jobs that wait are bounded.
final class MediaThread: Sendable {
    private struct State: Sendable {
        var jobs = Fifo<@Sendable () -> Void>()
        var isStopping = false
        var threads = 0
    }

    private let state = Monitor(State())
    private static let jobsMax = 8_192

    init(count: Int) {
        state.update { $0.threads = count }
        // Messages come before content. Loops take none of the locks here.
        for number in 0..<count {
            startDatabaseThread("media-\(number)", isInBackground: true, givesWay: true) { self.run() }
        }
    }

    /// Runs `job` and returns its value; nil when too many jobs wait, or after `stop`.
    func run<Value: Sendable>(_ job: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let isTaken = state.update { state in
                guard !state.isStopping, state.jobs.count < Self.jobsMax else { return false }
                state.jobs.append { continuation.resume(returning: job()) }
                return true
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// Ends the threads after the jobs that wait. Blocks.
    func stop() {
        state.update { $0.isStopping = true }
        state.wait { $0.threads == 0 ? true : nil }
    }

    private func run() {
        while true {
            let job: (@Sendable () -> Void)? = state.wait { state in
                if let job = state.jobs.popFirst() { return .some(job) }
                return state.isStopping ? .some(nil) : nil
            }
            guard let job else { break }
            job()
        }
        state.update { $0.threads -= 1 }
    }
}
