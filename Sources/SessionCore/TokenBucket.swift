/// A rate with a burst: `ratePerSecond` tokens flow in, at most `burst` wait. The clock is passed in.
public struct TokenBucket: Sendable, Hashable {
    public let ratePerSecond: Double
    public let burst: Double
    private var tokens: Double
    private var lastMilliseconds: UInt64

    /// Starts full.
    public init(ratePerSecond: Double, burst: Double, nowMilliseconds: UInt64) {
        self.ratePerSecond = ratePerSecond
        self.burst = burst
        tokens = burst
        lastMilliseconds = nowMilliseconds
    }

    /// Takes one token; nil when there was one, else how long until there will be, in milliseconds (at least 1).
    public mutating func take(nowMilliseconds: UInt64) -> Int64? {
        if nowMilliseconds > lastMilliseconds {
            tokens = min(burst, tokens + Double(nowMilliseconds - lastMilliseconds) * ratePerSecond / 1000)
            lastMilliseconds = nowMilliseconds
        }
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        guard ratePerSecond > 0 else { return Int64.max }
        // Less than a microsecond is the sum's rounding, not a time to wait.
        let milliseconds = ((1 - tokens) * 1000 / ratePerSecond - 0.001).rounded(.up)
        return max(1, Int64(exactly: milliseconds) ?? .max)
    }

    /// Gives back what was taken for something that then cost nothing (a repeat; contract, "Retry").
    public mutating func giveBack() { tokens = min(burst, tokens + 1) }
}
