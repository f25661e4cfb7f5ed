/// When a session is pinged and when it is given up (contract, "Heartbeat").
public struct Heartbeat: Sendable, Hashable {
    public enum Decision: Sendable, Hashable {
        case none
        case ping
        /// Nothing has come for 2.5 intervals: close with 4408.
        case drop
    }

    public let intervalMilliseconds: UInt64
    private var lastHeard: UInt64
    private var lastPing: UInt64

    public init(intervalMilliseconds: UInt64, nowMilliseconds: UInt64) {
        self.intervalMilliseconds = intervalMilliseconds
        lastHeard = nowMilliseconds
        lastPing = nowMilliseconds
    }

    /// Any byte from the client counts.
    public mutating func heard(nowMilliseconds: UInt64) { lastHeard = nowMilliseconds }

    public mutating func tick(nowMilliseconds: UInt64) -> Decision {
        if nowMilliseconds >= lastHeard + intervalMilliseconds * 5 / 2 { return .drop }
        guard nowMilliseconds >= lastPing + intervalMilliseconds else { return .none }
        lastPing = nowMilliseconds
        return .ping
    }
}
