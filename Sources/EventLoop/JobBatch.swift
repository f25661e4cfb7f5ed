/// Jobs taken out of an inbox together, and how far they have been run. Only for the loop's thread.
struct JobBatch {
    private var jobs: [LoopJob] = []
    private var next = 0

    /// Storage for more jobs than this, which one burst needed, is given back.
    private static let capacityKept = 4 * EventLoop.jobsPerTurn

    /// Whether all have been run.
    var isFinished: Bool { next == jobs.count }

    /// Runs jobs of the batch, then of the inbox, those included that come meanwhile, until there are none, `limit` have
    /// run, or the time is over. A job must not use the batch.
    mutating func run(
        from inbox: borrowing JobInbox, atMost limit: Int, untilNanoseconds end: UInt64,
        on executor: UnownedSerialExecutor
    ) {
        for count in 0..<limit {
            if count > 0, EventLoop.nowNanoseconds >= end { return }
            if isFinished {
                refill(from: inbox)
                if jobs.isEmpty { return }
            }
            // Taking a job out releases what it holds as soon as it has run, not with the batch.
            let job = exchange(&jobs[next], with: .done)
            next += 1
            switch job {
            case .done: break
            case .task(let task): task.runSynchronously(on: executor)
            case .closure(let work): work()
            }
        }
    }

    private mutating func refill(from inbox: borrowing JobInbox) {
        if jobs.capacity > Self.capacityKept { jobs = [] }
        jobs.removeAll(keepingCapacity: true)
        next = 0
        inbox.swap(into: &jobs)
    }
}
