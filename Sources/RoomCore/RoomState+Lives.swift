import ChatModel

extension RoomState {
    /// From when on messages are visible; nil: there is no room.
    /// - Parameter standardDays: of rooms without a life of their own.
    public func visibleSince(_ now: Timestamp, standardDays: Int64) -> Timestamp? {
        record?.visibleSince(now, standardDays: standardDays)
    }

    /// The files that messages of the day are in.
    @inline(never)
    public func life(on day: Int64) -> HistoryLife {
        // Asked for each message: the spans alone, since a method of the record's lives would be given a copy of the record.
        if let spans = record?.lives.spans { return RoomLives.life(on: day, of: spans) }
        // A room may keep a message with the command that deletes it.
        return RoomLives.life(on: day, of: deleted?.record.room.lives.spans ?? [])
    }
}
