import Histogram

/// Two latency distributions of one loop, in microseconds.
struct Latencies: Sendable {
    private static let microsecondsMax: UInt64 = 3_600_000_000

    /// From the first sending to the ack.
    private(set) var ack = Histogram<UInt64>(highestTrackableValue: microsecondsMax)
    /// From the first sending to the push at a viewer.
    private(set) var receipt = Histogram<UInt64>(highestTrackableValue: microsecondsMax)

    mutating func noteAck(_ microseconds: UInt64) { ack.record(min(microseconds, Self.microsecondsMax)) }
    mutating func noteReceipt(_ microseconds: UInt64) { receipt.record(min(microseconds, Self.microsecondsMax)) }

    mutating func add(_ other: Latencies) {
        ack.add(other.ack)
        receipt.add(other.receipt)
    }
}
