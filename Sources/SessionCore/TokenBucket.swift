/// A rate with a burst: `ratePerSecond` tokens flow in, at most `burst` wait. The clock is passed in.
public struct TokenBucket: Sendable, Hashable {
    public private(set) var ratePerSecond: Double
    public private(set) var burst: Double
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
        if let wait = wait(for: 1, nowMilliseconds: nowMilliseconds) { return wait }
        take(1)
        return nil
    }

    /// How long until so many tokens are there, in milliseconds (at least 1); nil when they are. More than the burst wait
    /// for a full bucket, and leave a debt when they are taken.
    public mutating func wait(for amount: Double, nowMilliseconds: UInt64) -> Int64? {
        fill(nowMilliseconds)
        let needed = min(amount, burst)
        guard tokens < needed else { return nil }
        guard ratePerSecond > 0 else { return Int64.max }
        // Less than a microsecond is the sum's rounding, not a time to wait: also for who has waited as long as was said.
        let milliseconds = ((needed - tokens) * 1000 / ratePerSecond - 0.001).rounded(.up)
        guard milliseconds > 0 else { return nil }
        return Int64(exactly: milliseconds) ?? .max
    }

    /// Takes so many, whether they are there or not: what is missing is a debt, of at most what flows in within a minute.
    public mutating func take(_ amount: Double) {
        tokens = max(-ratePerSecond * Self.debtSeconds, tokens - max(0, amount))
    }

    /// Takes what was used elsewhere, as somebody says who may be wrong: the debt that this leaves is of at most what flows
    /// in within that time. A debt that is deeper already stays as it is.
    public mutating func take(_ amount: Double, debtSeconds: Double, nowMilliseconds: UInt64) {
        fill(nowMilliseconds)
        tokens = min(tokens, max(-ratePerSecond * debtSeconds, tokens - max(0, amount)))
    }

    /// Gives back what was taken for something that then cost nothing (a repeat; PROTOCOL.md, "Retry").
    public mutating func giveBack(_ amount: Double = 1) { tokens = min(burst, tokens + max(0, amount)) }

    /// Another rate from now on. The rest stays, plus the growth of the burst.
    public mutating func set(ratePerSecond: Double, burst: Double) {
        tokens = min(burst, tokens + max(0, burst - self.burst))
        (self.ratePerSecond, self.burst) = (ratePerSecond, burst)
    }

    private mutating func fill(_ nowMilliseconds: UInt64) {
        guard nowMilliseconds > lastMilliseconds else { return }
        tokens = min(burst, tokens + Double(nowMilliseconds - lastMilliseconds) * ratePerSecond / 1000)
        lastMilliseconds = nowMilliseconds
    }

    /// The rest of now, in thousandths.
    public func level(nowMilliseconds: UInt64) -> Int64 {
        var bucket = self
        bucket.fill(nowMilliseconds)
        return Int64(exactly: (bucket.tokens * 1000).rounded(.down)) ?? (bucket.tokens > 0 ? .max : 0)
    }

    /// No more is left than this, in thousandths.
    public mutating func restrict(to level: Int64) {
        tokens = min(tokens, max(-ratePerSecond * Self.debtSeconds, Double(level) / 1000))
    }

    private static let debtSeconds = 60.0
}
