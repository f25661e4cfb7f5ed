import ChatModel

/// Spares everybody the wait for a hook that is away: after `failuresMax` failures in a row it is not asked for a
/// while, then one message tries it, and one success closes the circuit.
///
/// Time is passed in; nothing here waits.
public struct CircuitBreaker: Sendable, Hashable {
    /// Can transition: closed to open by the last of `failuresMax` failures; open to probing when `until` has passed;
    /// probing to closed or open by the probe's result.
    private enum State: Sendable, Hashable {
        case closed(failures: Int)
        /// `pause` is how long it was opened for, and doubles with each failed probe.
        case open(until: Timestamp, pause: Int64)
        case probing(since: Timestamp, pause: Int64)
    }

    /// Failures in a row that open it.
    public static let failuresMax = 5
    /// The first pause, milliseconds.
    public static let pauseMin: Int64 = 1_000
    /// The longest pause, milliseconds.
    public static let pauseMax: Int64 = 30_000

    private var state = State.closed(failures: 0)

    public init() {}

    public var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether to ask now. True while open makes the caller the probe: it must report how it went.
    public mutating func admit(at now: Timestamp) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .probing(since: now, pause: pause)
            return true
        case .probing(let since, let pause):
            // A probe of which nothing was heard is over when a pause has passed.
            guard now >= since.adding(milliseconds: pause) else { return false }
            state = .probing(since: now, pause: pause)
            return true
        }
    }

    public mutating func succeeded() { state = .closed(failures: 0) }

    public mutating func failed(at now: Timestamp) {
        switch state {
        case .closed(let failures):
            guard failures + 1 >= Self.failuresMax else {
                state = .closed(failures: failures + 1)
                return
            }
            state = .open(until: now.adding(milliseconds: Self.pauseMin), pause: Self.pauseMin)
        case .probing(_, let pause):
            let longer = min(Self.pauseMax, pause * 2)
            state = .open(until: now.adding(milliseconds: longer), pause: longer)
        case .open: break
        }
    }
}
