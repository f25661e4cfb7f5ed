import ChatModel

/// Since when a room is at rest, in memory and led.
struct RoomTimes {
    /// Since when nothing has happened, as the host knows.
    var idleSince: Timestamp
    /// When this leader took the room over.
    let activatedAt: Timestamp
    /// When this leader began to lead the shard.
    let ledSince: Timestamp

    init(activatedAt: Timestamp, ledSince: Timestamp) {
        idleSince = activatedAt
        self.activatedAt = activatedAt
        self.ledSince = ledSince
    }
}
