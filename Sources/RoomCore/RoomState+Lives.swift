import ChatModel

extension RoomState {
    /// From when on messages are visible; nil: there is no room.
    /// - Parameter standardDays: of rooms without a life of their own.
    public func visibleSince(_ now: Timestamp, standardDays: Int64) -> Timestamp? {
        record?.visibleSince(now, standardDays: standardDays)
    }

    /// The files that messages of the day are in.
    public func life(on day: Int64) -> HistoryLife {
        // A room may keep a message with the command that deletes it.
        (record ?? deleted?.record.room)?.lives.life(on: day) ?? .standard
    }
}
