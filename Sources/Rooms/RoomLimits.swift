import Synchronization

/// Limits of rooms that may change while the node runs (SIGHUP), for all its loops. Decisions by them are soft: they
/// never go through the log.
public final class RoomLimits: Sendable {
    public static let entersPerSecondDefault = 40_000

    private let enters: Atomic<Int>

    public init(entersPerSecond: Int = entersPerSecondDefault) { enters = Atomic(entersPerSecond) }

    /// `enter`s that a room takes in a second, with a burst of one second's worth; at least 1.
    public var entersPerSecond: Int {
        get { enters.load(ordering: .relaxed) }
        set { enters.store(newValue, ordering: .relaxed) }
    }
}
