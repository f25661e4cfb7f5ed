/// A room's tallies on their way: windows of taps into the log, totals to viewers (PROTOCOL.md, "Tallies").
struct TallyDesk {
    /// The windows of taps that are proposed and not decided, by the life of their lane.
    var proposedTaps: [UInt64: UInt64] = [:]
    /// The tallies whose totals viewers have not been told.
    var changed: Set<String> = []
    /// The host has the room on its list of those with changed totals.
    var isOpen = false
    /// Whether it was opened since the host was told.
    var isNew = false
    /// When viewers were told last, by the loop's clock.
    var toldAt: UInt64?
}
