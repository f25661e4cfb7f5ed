/// How fast content must come: a place among a node's transfers is not to be had for a byte now and then.
///
/// It may come in bursts: what counts is the mean, and ``graceMilliseconds`` are given in advance. Pure: times are passed in.
struct ReceivingPace {
    /// The mean that is enough, in bytes a second: 100 MB take 7 hours at it, and no transfer lasts longer than one.
    static let bytesPerSecond: Int64 = 4_096
    /// For so long nothing need come, from the beginning on and behind each time in which all came that had to.
    static let graceMilliseconds: Int64 = 30_000

    /// In thousandths of a byte.
    private var left = Self.bytesPerSecond * Self.graceMilliseconds

    mutating func received(_ count: Int) {
        left = min(Self.bytesPerSecond * Self.graceMilliseconds, left + Int64(count) * 1_000)
    }

    /// Whether too little has come, now that so much time has passed in which it could.
    mutating func isTooSlow(after milliseconds: UInt64) -> Bool {
        left -= Self.bytesPerSecond * Int64(milliseconds)
        return left < 0
    }
}
