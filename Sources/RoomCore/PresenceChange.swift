import ChatModel

/// A change of who is in a room on one node, as another replica of the room is told.
public enum PresenceChange: Sendable, Hashable {
    /// The session is here, or shows something else.
    case here(Visitor)
    case gone(SessionID)
    /// Everybody has left.
    case emptied
}

/// The sessions whose changes other replicas have not been told of, oldest first: those of the leader's own node, and
/// those of nodes that can't be reached, which nobody would announce to a next leader. One that changes twice stands here
/// twice: both times what is then is told.
struct PresenceChanges: Sendable {
    /// nil: nobody is told, and nothing is noted.
    let node: NodeID?
    /// nil: everybody has left.
    private var keys = Fifo<PresenceKey?>()
    /// Sessions of other nodes that can't be reached.
    private(set) var lost: Set<PresenceKey> = []

    init(of node: NodeID? = nil) { self.node = node }

    var isEmpty: Bool { keys.isEmpty }

    /// Whether other replicas are told of this session, as long as it is here.
    func tells(_ key: PresenceKey) -> Bool { key.node == node || lost.contains(key) }

    mutating func note(_ key: PresenceKey) {
        guard node != nil, tells(key) else { return }
        keys.append(key)
    }

    /// The session's node can't be reached.
    mutating func noteLost(_ key: PresenceKey) {
        guard let node, key.node != node, lost.insert(key).inserted else { return }
        keys.append(key)
    }

    /// The session's node is reached again, and announces it to a next leader.
    mutating func noteReached(_ key: PresenceKey) {
        guard !lost.isEmpty, lost.remove(key) != nil else { return }
        keys.append(key)
    }

    /// The session is not here.
    mutating func forget(_ key: PresenceKey) { lost.remove(key) }

    /// Earlier changes mean nothing any more.
    mutating func noteEmptied() {
        guard node != nil else { return }
        keys = Fifo([nil])
        lost = []
    }

    mutating func take(max: Int) -> [PresenceKey?] {
        var taken: [PresenceKey?] = []
        while taken.count < max, let key = keys.popFirst() { taken.append(key) }
        return taken
    }
}
