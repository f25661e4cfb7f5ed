import ChatModel

/// How long to wait before connecting again: full jitter, or the window of a `reconnect` push (PROTOCOL.md, "Closing").
struct Backoff: Hashable, Sendable {
    private let minMilliseconds: Int64
    private let maxMilliseconds: Int64
    /// Tries in a row that came to nothing.
    private(set) var failures = 0
    private var window: ClosedRange<Int64>?

    /// No server may make a client wait longer than this.
    static let windowMilliseconds: Int64 = 600_000

    init(minMilliseconds: Int64, maxMilliseconds: Int64) {
        self.minMilliseconds = max(0, minMilliseconds)
        self.maxMilliseconds = max(self.minMilliseconds, maxMilliseconds)
    }

    mutating func fail() { failures = min(failures + 1, 1_000_000) }

    /// A connection holds: the next wait is short again.
    mutating func succeed() { failures = 0 }

    /// A `reconnect` push decides the next wait.
    mutating func obey(minMilliseconds: Int64, maxMilliseconds: Int64) {
        let low = min(max(0, minMilliseconds), Self.windowMilliseconds)
        window = low...min(max(low, maxMilliseconds), Self.windowMilliseconds)
    }

    /// A refusal that names a time decides the next wait. Those who were refused together do not come back together.
    mutating func obey(retryAfterMilliseconds asked: Int64) {
        let low = max(0, min(asked, Self.windowMilliseconds))
        obey(minMilliseconds: low, maxMilliseconds: low + max(500, low / 4))
    }

    /// Whether the server has named the next wait.
    var hasWindow: Bool { window != nil }

    mutating func forgetWindow() { window = nil }

    /// The next wait; a window counts once.
    mutating func next(using random: inout some RandomNumberGenerator) -> Int64 {
        if let window {
            self.window = nil
            return Int64.random(in: window, using: &random)
        }
        // The first wait has a spread too: all clients of a node that died lose it at the same moment.
        let (doubled, overflow) = minMilliseconds.multipliedReportingOverflow(by: 1 << Int64(min(failures + 1, 30)))
        let cap = overflow ? maxMilliseconds : min(maxMilliseconds, doubled)
        return Int64.random(in: minMilliseconds...max(minMilliseconds, cap), using: &random)
    }
}
