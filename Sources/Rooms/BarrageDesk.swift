import RoomCore
import RoomProtocol

/// Barrage on its way through the room's leader.
struct BarrageDesk {
    /// A window of a gateway loop's, in the room's own window.
    struct Source {
        var lane: Lane
        var window: UInt64
    }

    var window: BarrageWindow
    /// The gateways' windows in it.
    var sources: [Source] = []
    var isOpen = false
    /// Whether it was opened since the host was told.
    var isNew = false
    /// Whether gateways know the room as muted.
    var toldMuted = false
    /// Items since the room is in memory.
    var shown: Int64 = 0
    var dropped: Int64 = 0

    init(perSecond: Int, highPerSecond: Int) {
        window = BarrageWindow(perSecond: perSecond, highPerSecond: highPerSecond)
    }
}
