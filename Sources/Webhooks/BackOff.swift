/// How long to wait before the next try: bounded exponential with full jitter, so that many callers don't come back
/// together.
public struct BackOff: Sendable, Hashable {
    /// Milliseconds before the first repeat, at most.
    public var first: Int64
    /// Milliseconds before any repeat, at most.
    public var longest: Int64
    private var failures = 0

    public init(first: Int64, longest: Int64) {
        self.first = first
        self.longest = longest
    }

    public mutating func succeeded() { failures = 0 }

    /// - Parameter random: 0 ..< 1.
    /// - Returns: milliseconds, from half of the present bound to all of it.
    public mutating func failed(random: Double) -> Int64 {
        let bound = min(longest, first << Int64(min(failures, 30)))
        failures += 1
        let half = bound / 2
        return half + Int64(Double(bound - half) * min(max(random, 0), 1))
    }
}
