/// When a session is pinged and when it is given up (PROTOCOL.md, "Heartbeat").
///
/// A lane looks at it when it is due, and not every second: bytes that come move the time on, which is found out at the
/// next look. The silence of a client is counted in ``ListeningTime``.
public struct Heartbeat: Sendable, Hashable {
    public enum Decision: Sendable, Hashable {
        case none
        case ping
        /// Nothing has come for 2.5 intervals, not even after a ping: close with 4408.
        case drop
    }

    public let intervalMilliseconds: UInt64
    /// When the last byte came, in loop time.
    public private(set) var heardAtMilliseconds: UInt64
    /// The same in listening time.
    private var lastHeard: UInt64
    /// In loop time.
    private var lastPing: UInt64
    /// How often the lane had stood still at the last ping; nil when a byte has come since. Where it has stood still
    /// again, an answer may be unread.
    private var pingedAfter: UInt32?

    public init(intervalMilliseconds: UInt64, nowMilliseconds: UInt64, _ listening: ListeningTime) {
        self.intervalMilliseconds = intervalMilliseconds
        heardAtMilliseconds = nowMilliseconds
        lastHeard = listening.milliseconds(at: nowMilliseconds)
        lastPing = nowMilliseconds
    }

    /// Any byte from the client counts.
    public mutating func heard(nowMilliseconds: UInt64, _ listening: ListeningTime) {
        heardAtMilliseconds = nowMilliseconds
        lastHeard = listening.milliseconds(at: nowMilliseconds)
        pingedAfter = nil
    }

    public mutating func look(nowMilliseconds: UInt64, _ listening: ListeningTime) -> Decision {
        if pingedAfter == listening.standstills, patience(at: nowMilliseconds, listening) == 0 { return .drop }
        guard nowMilliseconds >= lastPing + intervalMilliseconds else { return .none }
        lastPing = nowMilliseconds
        pingedAfter = listening.standstills
        return .ping
    }

    /// When ``look(nowMilliseconds:_:)`` has something to say next if nothing comes until then, in loop time.
    public func due(nowMilliseconds: UInt64, _ listening: ListeningTime) -> UInt64 {
        let ping = lastPing + intervalMilliseconds
        guard pingedAfter == listening.standstills else { return ping }
        return min(ping, nowMilliseconds + patience(at: nowMilliseconds, listening))
    }

    /// The silence that the client has left.
    private func patience(at now: UInt64, _ listening: ListeningTime) -> UInt64 {
        let end = lastHeard + intervalMilliseconds * 5 / 2
        return end - min(end, listening.milliseconds(at: now))
    }
}
