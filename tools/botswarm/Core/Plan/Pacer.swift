/// When a sender's next message is due: evenly spaced, first at a random place in the first interval.
package struct Pacer: Hashable, Sendable {
    private let intervalNanoseconds: UInt64
    private var dueNanoseconds: UInt64
    /// Messages that were due while the sender could not send, and are not made up for.
    package private(set) var forgone: UInt64 = 0

    /// Messages that a sender makes up for at once after it could not send.
    private static let lateMax: UInt64 = 8
    /// About eleven days.
    private static let intervalMaxNanoseconds = 1e15

    /// - Parameters:
    ///   - ratePerSecond: 0 is always due.
    ///   - phase: 0 ..< 1, where in the first interval it begins.
    package init(ratePerSecond: Double, start: SwarmInstant, phase: Double) {
        let interval = ratePerSecond > 0 ? min(1_000_000_000 / ratePerSecond, Self.intervalMaxNanoseconds) : 0
        intervalNanoseconds = UInt64(interval)
        dueNanoseconds = start.nanoseconds &+ UInt64(interval * min(max(phase, 0), 1))
    }

    /// Whether a message is due at `now`; if so it counts as sent.
    package mutating func take(at now: SwarmInstant) -> Bool {
        guard now.nanoseconds >= dueNanoseconds else { return false }
        if intervalNanoseconds > 0 {
            let late = (now.nanoseconds - dueNanoseconds) / intervalNanoseconds
            if late > Self.lateMax {
                forgone += late - Self.lateMax
                dueNanoseconds += (late - Self.lateMax) * intervalNanoseconds
            }
        }
        dueNanoseconds += intervalNanoseconds
        return true
    }
}
