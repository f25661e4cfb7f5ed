import History
import RoomCore

/// Work of a room that waits for storage, for another room or for the hook.
struct RoomReading {
    /// How much: the room stays in memory meanwhile.
    var count = 0
    /// Sessions that read history.
    var readers: [PresenceKey: SessionReads] = [:]
    /// Messages that are with the pre-send hook.
    var atHook = 0
}
