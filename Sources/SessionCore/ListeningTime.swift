/// The time for which a lane has listened to its clients: loop time without the time for which the lane itself stood still
/// (stopped, suspended, without a CPU). The bytes that came meanwhile wait in sockets, unread, so that time is no silence
/// of a client.
///
/// Only ``tickMilliseconds`` of the time between two ticks count.
public struct ListeningTime: Sendable, Hashable {
    /// Ticks come so often, or oftener, as long as nothing stands still.
    public static let tickMilliseconds: UInt64 = 1_000

    private var lastTick: UInt64
    /// At the last tick.
    private var milliseconds: UInt64 = 0
    /// How often a whole tick was missed.
    private(set) var standstills: UInt32 = 0

    public init(nowMilliseconds: UInt64) { lastTick = nowMilliseconds }

    public mutating func tick(nowMilliseconds: UInt64) {
        if nowMilliseconds > lastTick + 2 * Self.tickMilliseconds { standstills &+= 1 }
        milliseconds = milliseconds(at: nowMilliseconds)
        lastTick = nowMilliseconds
    }

    func milliseconds(at now: UInt64) -> UInt64 { milliseconds + min(now &- lastTick, Self.tickMilliseconds) }
}
