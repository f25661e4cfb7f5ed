import ChatModel

extension Session {
    /// The leader of a room has been away for too long, and its viewers are told so: the session is not in it any more.
    /// A leader that comes back is not told of it, and lets its stay end with the grace.
    public mutating func onRoomFailed(_ room: RoomID) -> [Effect] {
        guard isIn(room) else { return [] }
        noteLeave(of: room)
        var effects = part(room)
        effects.append(.notify(room, .left))
        return effects
    }
}
