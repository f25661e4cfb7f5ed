/// How long to wait before connecting again: full jitter from half a second to a cap that doubles with each failed try
/// (PROTOCOL.md, "Closing"), or the window of a `reconnect` push.
package struct Backoff: Hashable, Sendable {
    package let maxMilliseconds: UInt64
    private var failures = 0
    private var window: ClosedRange<UInt64>?

    /// No server may make a bot wait longer than this.
    private static let windowMaxMilliseconds: UInt64 = 600_000
    private static let minMilliseconds: UInt64 = 500

    package init(maxMilliseconds: UInt64) { self.maxMilliseconds = max(1, maxMilliseconds) }

    /// A connection is up: the next wait is short again.
    package mutating func succeed() {
        failures = 0
        window = nil
    }

    /// A `reconnect` push decides the next wait.
    package mutating func obey(minMilliseconds: Int64, maxMilliseconds: Int64) {
        let low = min(UInt64(clamping: minMilliseconds), Self.windowMaxMilliseconds)
        let high = min(UInt64(clamping: maxMilliseconds), Self.windowMaxMilliseconds)
        window = low...max(low, high)
    }

    /// The next wait in milliseconds.
    package mutating func next(using random: inout some RandomNumberGenerator) -> UInt64 {
        if let window {
            self.window = nil
            return UInt64.random(in: window, using: &random)
        }
        let cap = min(maxMilliseconds, Self.minMilliseconds << UInt64(min(failures + 1, 16)))
        failures += 1
        return UInt64.random(in: min(Self.minMilliseconds, maxMilliseconds / 2)...cap, using: &random)
    }
}
