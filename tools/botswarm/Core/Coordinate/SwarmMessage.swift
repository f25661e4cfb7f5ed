import ChatModel

/// A message between a coordinator and its workers: one JSON object on each line.
///
/// Nothing in it is a key: each worker has its own way to the cluster.
package enum SwarmMessage: Codable, Sendable {
    /// From here on, a change that an older side would misread needs a new number.
    package static let version = 1

    // From the coordinator.

    /// The first line; `nonce` is to be proved against.
    case hello(version: Int, nonce: String)
    /// The worker's proof was right; here is the coordinator's.
    case welcome(proof: String)
    /// What time is it?
    case clock(question: Int)
    case plan(SwarmPlan)
    /// All workers are there.
    case go(RunPoint)
    /// All that the others have sent has been told.
    case exchanged
    /// End the sending early.
    case stop
    /// The report is in: the worker may go.
    case bye

    // From a worker.

    case join(version: Int, nonce: String, proof: String, name: String)
    case time(question: Int, nanoseconds: UInt64)
    case reached(RunPoint)
    case progress(WorkerProgress)
    case report(WorkerReport)
    case failed(String)

    // Both ways.

    /// A part of the messages that a worker's bots have sent in the room of this number.
    case statements(room: Int, [MessageStatement])
    /// From a worker: that was all.
    case stated
}

/// The plan of a worker.
package struct SwarmPlan: Codable, Sendable {
    package var scenario: Scenario
    package var run: String
    package var rooms: [String]
    package var areNew: Bool
    package var part: WorkerPart
}

/// A histogram as what was recorded in it.
package struct SparseHistogram: Codable, Sendable {
    var values: [UInt64] = []
    var counts: [UInt64] = []
}

/// The progress of a worker, about once a second.
package struct WorkerProgress: Codable, Sendable {
    var phase: String
    var counters: LaneCounters
    var bots: Int
    var secondsLeft: Double
    var sample: WorkerSample?
}

package struct WorkerSample: Codable, Sendable {
    var seconds: Double
    var length: Double
    var phase: String
    var here: Int
    var counts: TimelineSample.Counts
    var latencies: [LatencyKind: SparseHistogram]
}

/// A worker's report.
package struct WorkerReport: Codable, Sendable {
    var counters: LaneCounters
    var totals: LedgerTotals
    var findingCounts: [Finding.Kind: Int]
    var findingsTold: [Finding]
    var latencies: [LatencyKind: SparseHistogram]
    var samples: [WorkerSample]
    var marks: [StageMark]
    var enteringSeconds: Double
    var sendingSeconds: Double
    var acked: UInt64
    var delivered: UInt64
    var lastFailure: String?
}
