import ChatModel

/// Other replicas of the room are told of who is here: a next leader goes on with it.
extension Presence {
    /// From here on changes of that node's sessions are noted, for other replicas; nil: no more.
    public mutating func replicate(_ node: NodeID?) { if changes.node != node { changes = PresenceChanges(of: node) } }

    /// Whether there are changes that other replicas have not been told of.
    public var hasChanges: Bool { !changes.isEmpty }

    /// The session's node can't be reached: other replicas are told of it as of those of the leader's node.
    public mutating func setLost(_ key: PresenceKey) { if visitors.has(key) { changes.noteLost(key) } }

    /// The session's node is reached again.
    public mutating func setReached(_ key: PresenceKey) { changes.noteReached(key) }

    /// All sessions that other replicas are told of, in no order: for one that knows nothing yet.
    public func replicatedSessions() -> [PresenceKey] {
        lanes.filter { $0.node == changes.node }.flatMap { keys(on: $0) } + changes.lost
    }

    /// The session as other replicas are told of it now; nil: it is not here, or its node announces it.
    public func replicated(_ key: PresenceKey) -> Visitor? { changes.tells(key) ? visitors[key] : nil }

    /// The oldest changes that other replicas have not been told of, as they are now: at most so many.
    public mutating func takeChanges(max: Int) -> [PresenceChange] {
        var taken: [PresenceChange] = []
        for key in changes.take(max: max) {
            guard let key else {
                taken.append(.emptied)
                continue
            }
            if let visitor = replicated(key) {
                taken.append(.here(visitor))
                continue
            }
            changes.forget(key)
            // A session may have come from a lost node to the leader's, and they know it there already.
            if let node = changes.node, visitors.has(PresenceKey(node: node, session: key.session)) { continue }
            taken.append(.gone(key.session))
        }
        return taken
    }
}
