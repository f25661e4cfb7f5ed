import Histogram

/// The latencies that are measured.
package enum LatencyKind: String, Sendable, Hashable, CaseIterable, Codable {
    /// From the first sending of a message or barrage to its ack.
    case ack
    /// From the first sending to the push at a viewer.
    case receipt
    /// The same at a viewer that is slow on purpose.
    case slowReceipt
    /// From `enter` to its reply, in the room.
    case enter
    /// From the first try to connect until the bot is in the room.
    case arrival
    /// From the loss of a connection until the bot is in the room again.
    case comeback
    /// From a change of the queue to its answer.
    case seat
    /// From an act of a manager to its answer.
    case moderation

    /// For people.
    package var title: String {
        switch self {
        case .ack: "send to ack"
        case .receipt: "send to receipt"
        case .slowReceipt: "to slow viewers"
        case .enter: "enter"
        case .arrival: "connect to entered"
        case .comeback: "lost to back"
        case .seat: "queue change"
        case .moderation: "moderation"
        }
    }
}

/// Latency distributions of one loop, in microseconds: of the whole run, and since the last sample.
struct Latencies: Sendable {
    static let microsecondsMax: UInt64 = 3_600_000_000

    private(set) var all: [LatencyKind: Histogram<UInt64>] = [:]
    private var sinceSample: [LatencyKind: Histogram<UInt64>] = [:]

    mutating func note(_ kind: LatencyKind, _ microseconds: UInt64) {
        let value = min(microseconds, Self.microsecondsMax)
        all[kind, default: Self.histogram(.three)].record(value)
        if Self.sampled.contains(kind) { sinceSample[kind, default: Self.histogram(.two)].record(value) }
    }

    /// The measurements since the last call.
    mutating func takeSample() -> Sample {
        defer { sinceSample = [:] }
        return sinceSample
    }

    typealias Sample = [LatencyKind: Histogram<UInt64>]

    mutating func add(_ other: Latencies) { Self.add(other.all, to: &all) }

    mutating func add(_ kind: LatencyKind, _ histogram: Histogram<UInt64>) { Self.add([kind: histogram], to: &all) }

    subscript(kind: LatencyKind) -> Histogram<UInt64>? {
        guard let histogram = all[kind], histogram.totalCount > 0 else { return nil }
        return histogram
    }

    static func add(_ some: [LatencyKind: Histogram<UInt64>], to all: inout [LatencyKind: Histogram<UInt64>]) {
        for (kind, histogram) in some {
            if all[kind] == nil { all[kind] = histogram } else { all[kind]?.add(histogram) }
        }
    }

    /// The kinds that the screen and the plots show over time.
    static let sampled: Set<LatencyKind> = [.ack, .receipt, .enter]

    static func histogram(_ digits: SignificantDigits) -> Histogram<UInt64> {
        Histogram(highestTrackableValue: microsecondsMax, numberOfSignificantValueDigits: digits)
    }
}
