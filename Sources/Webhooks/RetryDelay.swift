/// How long to wait before the next try: bounded exponential with full jitter, so that many callers don't come back
/// together.
public struct RetryDelay: Sendable, Hashable {
    /// The longest wait before the first repeat.
    public var firstMilliseconds: Int64
    /// The longest wait before any repeat.
    public var longestMilliseconds: Int64
    private var failures = 0

    public init(firstMilliseconds: Int64, longestMilliseconds: Int64) {
        self.firstMilliseconds = firstMilliseconds
        self.longestMilliseconds = longestMilliseconds
    }

    public mutating func succeeded() { failures = 0 }

    /// - Parameter random: 0 ..< 1.
    /// - Returns: milliseconds, from half of the present bound to all of it.
    public mutating func failed(random: Double) -> Int64 {
        let bound = min(longestMilliseconds, firstMilliseconds << Int64(min(failures, 30)))
        failures += 1
        let half = bound / 2
        return half + Int64(Double(bound - half) * min(max(random, 0), 1))
    }
}
