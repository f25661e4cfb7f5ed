import ChatModel
import RoomCore
import RoomProtocol

/// The leader's side of what other replicas of its shard know of the sessions on its node: which replicas have been told
/// to begin, the rooms that these have not been told of yet, and the rooms with changes. Pure.
struct PresenceSender {
    /// Replicas that were told to begin, in order.
    private(set) var replicas: [NodeID] = []
    /// Whether rooms note changes: somebody is told, or was a moment ago.
    private(set) var isOn = false
    /// Rooms with changes, in order, and each once.
    private var rooms = Fifo<RoomID>()
    private var noted: Set<RoomID> = []
    private var beginnings: [Beginning] = []

    /// Replicas that are told of all sessions, room by room. Changes that they are told of meanwhile do no harm: both say
    /// what is then.
    private struct Beginning {
        var nodes: [NodeID]
        var rooms: [RoomID]
        /// The sessions that are left of the room that was begun.
        var room: RoomID?
        var keys: [PresenceKey] = []
    }

    /// The first of the rooms with changes.
    var first: RoomID? { rooms.first }

    /// Whether somebody has to be told something.
    var isBehind: Bool { !rooms.isEmpty || !beginnings.isEmpty }

    /// The other replicas are these now.
    /// - Parameter inMemory: the rooms of which new ones have to be told.
    /// - Returns: those that are to be told to begin, and those that are told no more.
    mutating func choose(_ nodes: [NodeID], _ inMemory: @autoclosure () -> [RoomID]) -> (new: [NodeID], old: [NodeID]) {
        let new = nodes.filter { !replicas.contains($0) }
        let old = replicas.filter { !nodes.contains($0) }
        for node in old { forget(node) }
        (replicas, isOn) = (nodes, !nodes.isEmpty)
        if !new.isEmpty { beginnings.append(Beginning(nodes: new, rooms: inMemory())) }
        return (new, old)
    }

    /// That replica is not reached, or has lost its knowledge.
    mutating func forget(_ node: NodeID) {
        replicas.removeAll { $0 == node }
        for place in beginnings.indices { beginnings[place].nodes.removeAll { $0 == node } }
        beginnings.removeAll { $0.nodes.isEmpty }
    }

    /// The room has changes.
    mutating func note(_ room: RoomID) {
        guard isOn, noted.insert(room).inserted else { return }
        rooms.append(room)
    }

    /// All changes of the first room have been taken.
    mutating func finishFirst() {
        if let room = rooms.popFirst() { noted.remove(room) }
    }

    /// The next sessions of which new replicas have to be told: at most so many, of one room. None where so many rooms have
    /// none.
    /// - Parameter sessions: those of a room.
    mutating func takeBeginning(
        max: Int, _ sessions: (RoomID) -> [PresenceKey]
    ) -> (nodes: [NodeID], room: RoomID, keys: [PresenceKey])? {
        guard var it = beginnings.first else { return nil }
        var looks = 0
        while it.keys.isEmpty, looks < max, let room = it.rooms.popLast() {
            (it.room, it.keys) = (room, sessions(room))
            looks += 1
        }
        guard let room = it.room, !it.keys.isEmpty || !it.rooms.isEmpty else {
            beginnings.removeFirst()
            return nil
        }
        let some = Array(it.keys.suffix(max))
        it.keys.removeLast(some.count)
        beginnings[0] = it
        return (it.nodes, room, some)
    }
}
