/// How many newcomers are let in a second, with a burst of one second's worth, and when the others may come again.
///
/// Those who are refused are told times that follow each other at the rate, so that a storm comes back as a stream and
/// not as one wave: the later somebody comes, the later it is asked to come again. No time is further away than
/// `waitMillisecondsMax`; from there on the times begin anew, and who then finds no place is told a later one again.
///
/// The rate is given with every call and may change at any time; the clock is passed in. A clock that goes back makes
/// nobody wait for longer than the bound.
public struct Admission: Sendable, Hashable {
    /// Nobody is told to wait for longer.
    public static let waitMillisecondsMax: Int64 = 60_000
    private static let burstMilliseconds = 1000.0

    /// When a whole burst is free again, in milliseconds of the caller's clock.
    private var freeAt = -Double.infinity
    /// The last time that somebody was told to come again.
    private var promisedAt = -Double.infinity

    public init() {}

    /// Takes a place; false when there is none.
    /// - Parameter ratePerSecond: 0 and less count as 1.
    public mutating func take(ratePerSecond: Int, nowMilliseconds: Int64) -> Bool {
        let now = Double(nowMilliseconds)
        let interval = 1000 / Double(max(1, ratePerSecond))
        // Further away only where the clock went back: nothing is known of the time before.
        freeAt = freeAt > now + Self.burstMilliseconds + 0.001 ? now : max(freeAt, now)
        // Less than a microsecond is the sum's rounding.
        guard freeAt + interval - now <= Self.burstMilliseconds + 0.001 else { return false }
        freeAt += interval
        return true
    }

    /// In how many milliseconds to come again, for somebody who found no place: at least 1.
    public mutating func wait(ratePerSecond: Int, nowMilliseconds: Int64) -> Int64 {
        let now = Double(nowMilliseconds)
        let interval = 1000 / Double(max(1, ratePerSecond))
        let next = max(now, min(freeAt, now + Self.burstMilliseconds) + interval - Self.burstMilliseconds)
        var promised = max(next, promisedAt + interval)
        if promised - now > Double(Self.waitMillisecondsMax) { promised = next }
        promisedAt = promised
        return max(1, Int64((promised - now - 0.001).rounded(.up)))
    }
}
