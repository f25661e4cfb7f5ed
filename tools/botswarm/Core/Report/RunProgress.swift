/// Where a run is.
package struct RunProgress: Sendable {
    package enum Phase: String, Sendable {
        case entering, sending, draining, reading
    }

    package let phase: Phase
    let counters: LaneCounters
    let bots: Int
    let secondsLeft: Double

    /// One line for people.
    package var line: String {
        "\(phase.rawValue): \(counters.here)/\(bots) here, \(counters.sent) sent, \(counters.acked) acked, "
            + "\(counters.delivered) delivered, \(counters.reconnects) reconnects, \(counters.outstanding) open, "
            + "\(Int(max(0, secondsLeft).rounded(.up))) s left at most"
    }
}
