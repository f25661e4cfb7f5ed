/// When a session is pinged and when it is given up (PROTOCOL.md, "Heartbeat").
///
/// Only ``tickMilliseconds`` of the time between two ticks count as silence of the client. In the rest the lane itself
/// stood still (stopped, suspended, without a CPU): what came meanwhile waits in the socket, unread.
public struct Heartbeat: Sendable, Hashable {
    public enum Decision: Sendable, Hashable {
        case none
        case ping
        /// Nothing has come for 2.5 intervals, not even after a ping: close with 4408.
        case drop
    }

    /// Ticks come so often, or oftener, as long as nothing stands still.
    public static let tickMilliseconds: UInt64 = 1_000

    public let intervalMilliseconds: UInt64
    /// Later than it was by the time for which the lane stood still since.
    private var lastHeard: UInt64
    private var lastPing: UInt64
    private var lastTick: UInt64
    /// Since it was last heard and since the lane last missed a whole tick: an answer to an earlier ping may be unread.
    private var isPinged = false

    public init(intervalMilliseconds: UInt64, nowMilliseconds: UInt64) {
        self.intervalMilliseconds = intervalMilliseconds
        lastHeard = nowMilliseconds
        lastPing = nowMilliseconds
        lastTick = nowMilliseconds
    }

    /// Any byte from the client counts.
    public mutating func heard(nowMilliseconds: UInt64) {
        lastHeard = nowMilliseconds
        isPinged = false
    }

    public mutating func tick(nowMilliseconds: UInt64) -> Decision {
        let due = lastTick + Self.tickMilliseconds
        lastTick = nowMilliseconds
        if nowMilliseconds > due {
            let late = nowMilliseconds - due
            lastHeard = min(nowMilliseconds, lastHeard + late)
            if late > Self.tickMilliseconds { isPinged = false }
        }
        if isPinged, nowMilliseconds >= lastHeard + intervalMilliseconds * 5 / 2 { return .drop }
        guard nowMilliseconds >= lastPing + intervalMilliseconds else { return .none }
        lastPing = nowMilliseconds
        isPinged = true
        return .ping
    }
}
