import ChatModel
import RoomCore
import RoomProtocol

/// The leader's side of what other replicas of its shard know of the sessions on its node: which replicas have been told
/// to begin, and which rooms have changes for them. Pure.
struct PresenceSender {
    /// Replicas that were told to begin, in order.
    private(set) var replicas: [NodeID] = []
    /// Rooms with changes, in order, and each once.
    private var rooms = Fifo<RoomID>()
    private var noted: Set<RoomID> = []

    /// Whether rooms note changes: somebody is told, or was a moment ago.
    private(set) var isOn = false

    /// The first of the rooms with changes.
    var first: RoomID? { rooms.first }

    /// The other replicas are these now.
    /// - Returns: those that are to be told to begin.
    mutating func choose(_ nodes: [NodeID]) -> [NodeID] {
        let new = nodes.filter { !replicas.contains($0) }
        (replicas, isOn) = (nodes, !nodes.isEmpty)
        return new
    }

    /// That replica is not reached, or has lost its knowledge.
    mutating func forget(_ node: NodeID) { replicas.removeAll { $0 == node } }

    /// The room has changes.
    mutating func note(_ room: RoomID) {
        guard isOn, noted.insert(room).inserted else { return }
        rooms.append(room)
    }

    /// All changes of the first room have been taken.
    mutating func finishFirst() {
        if let room = rooms.popFirst() { noted.remove(room) }
    }
}
