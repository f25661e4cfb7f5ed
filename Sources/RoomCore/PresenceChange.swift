import ChatModel

/// A change of who is in a room on one node, as another replica of the room is told.
public enum PresenceChange: Sendable, Hashable {
    /// The session is here, or shows something else.
    case here(Visitor)
    case gone(SessionID)
    /// Everybody has left.
    case emptied
}

/// The sessions of a node whose changes other replicas have not been told of, oldest first. One that changes twice stands
/// here twice: both times what is then is told.
struct PresenceChanges: Sendable {
    /// nil: nobody is told, and nothing is noted.
    let node: NodeID?
    /// nil: everybody has left.
    private var keys = Fifo<PresenceKey?>()

    init(of node: NodeID? = nil) { self.node = node }

    var isEmpty: Bool { keys.isEmpty }

    mutating func note(_ key: PresenceKey) {
        guard let node, key.node == node else { return }
        keys.append(key)
    }

    /// Earlier changes mean nothing any more.
    mutating func noteEmptied() {
        guard node != nil else { return }
        keys = Fifo([nil])
    }

    mutating func take(max: Int) -> [PresenceKey?] {
        var taken: [PresenceKey?] = []
        while taken.count < max, let key = keys.popFirst() { taken.append(key) }
        return taken
    }
}
