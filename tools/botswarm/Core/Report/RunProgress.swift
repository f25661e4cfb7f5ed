import Histogram

/// Where a run is.
package struct RunProgress: Sendable {
    let scenario: String
    /// The phase: entering, the name of a stage, draining, counting, reading.
    package let phase: String
    let counters: LaneCounters
    let bots: Int
    let secondsLeft: Double
    /// The last second, when it has just ended.
    let sample: TimelineSample?

    /// One line for people.
    package var line: String {
        "\(phase): \(counters.here)/\(bots) here, \(counters.sent) sent, \(counters.acked) acked, "
            + "\(counters.delivered) delivered, \(counters.reconnects) lost, \(counters.errorCount) errors, "
            + "\(counters.outstanding) open, \(Int(max(0, secondsLeft).rounded(.up))) s left at most"
    }
}
