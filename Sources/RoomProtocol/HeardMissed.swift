import ChatModel

/// Missed messages that leaders have told a lane, for the answers that follow. A leader tells it before the first
/// answer that refers to it, and says when it is not needed any more.
public struct HeardMissed: Sendable {
    private struct Heard: Sendable {
        var leader: NodeID
        var messages: [UInt64: MissedMessages]
    }

    private var rooms: [RoomID: Heard] = [:]

    public init() {}

    /// A room's leader says this; nil: what it has said is not needed any more.
    public mutating func hear(_ missed: MissedMessages?, of room: RoomID, from leader: NodeID) {
        guard let missed else { return rooms[room] = nil }
        if rooms[room]?.leader != leader { rooms[room] = Heard(leader: leader, messages: [:]) }
        rooms[room]?.messages[missed.after] = missed
    }

    /// The messages for sessions that had everything up to that seq.
    public func messages(of room: RoomID, after seq: UInt64) -> MissedMessages? { rooms[room]?.messages[seq] }

    /// These rooms have another leader, or this one can't be reached any more: it would say all of it anew.
    public mutating func forget(where isGone: (_ room: RoomID, _ leader: NodeID) -> Bool) {
        rooms = rooms.filter { !isGone($0.key, $0.value.leader) }
    }
}
