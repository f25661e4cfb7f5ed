/// How far a worker's monotonic clock is from the coordinator's: of several questions the one that was answered fastest
/// says it best.
package struct ClockComparison: Sendable {
    package static let questions = 9

    private var best: (tripNanoseconds: UInt64, offsetNanoseconds: Int64)?
    package private(set) var answers = 0

    package init() {}

    package mutating func note(askedAt: UInt64, answer: UInt64, answeredAt: UInt64) {
        answers += 1
        guard answeredAt >= askedAt else { return }
        let trip = answeredAt - askedAt
        guard trip < best?.tripNanoseconds ?? .max else { return }
        let middle = askedAt + trip / 2
        best = (trip, Int64(clamping: middle) - Int64(clamping: answer))
    }

    /// The offset that the worker adds to its clock, and its error. Clocks that may be one are taken for one: two
    /// machines do not begin to count within the time of one question.
    package var result: (offsetNanoseconds: Int64, errorNanoseconds: Int64) {
        guard let best else { return (0, 0) }
        let error = Int64(clamping: best.tripNanoseconds / 2) + 1
        return abs(best.offsetNanoseconds) <= error ? (0, 0) : (best.offsetNanoseconds, error)
    }
}
