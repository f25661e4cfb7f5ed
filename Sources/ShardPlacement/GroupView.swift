import Consensus

/// A group's members as its leader knows them.
public struct GroupView: Sendable {
    /// The leader itself.
    public var own: ServerID
    /// The membership in force.
    public var membership: GroupMembership
    /// An entry of the leader's own term is committed, so is the newest membership, and leadership is not being handed
    /// over: a change can be proposed.
    public var isSettled: Bool
    /// The other servers, as `RaftGroup.peerStatuses` tells them.
    public var peers: [PeerStatus]
    /// Where the group belongs.
    public var placement: GroupPlacement
    /// The servers that have all of the group's history.
    public var complete: Set<ServerID>
    /// The listed nodes, as the system group has them; whoever is not among them was removed.
    public var listed: [String: PlacementNode]
    /// Nodes that gossip holds for dead, each with the tick at which that began.
    public var deadSince: [String: UInt64]
    /// Nodes that are not to lead, because of their clocks.
    public var wrongClocks: Set<String>
    /// Nodes that reach more of the cluster than the leader's.
    public var reachingMore: Set<String>
    /// Nodes that reach less of it.
    public var reachingFewer: Set<String>

    public init(
        own: ServerID, membership: GroupMembership, isSettled: Bool, peers: [PeerStatus], placement: GroupPlacement,
        complete: Set<ServerID>, nodes: [PlacementNode], deadSince: [String: UInt64],
        wrongClocks: Set<String> = [], reachingMore: Set<String> = [], reachingFewer: Set<String> = []
    ) {
        self.own = own
        self.membership = membership
        self.isSettled = isSettled
        self.peers = peers
        self.placement = placement
        self.complete = complete
        listed = Dictionary(nodes.map { ($0.server.node, $0) }) { _, last in last }
        self.deadSince = deadSince
        self.wrongClocks = wrongClocks
        self.reachingMore = reachingMore
        self.reachingFewer = reachingFewer
    }

    func peer(_ server: ServerID) -> PeerStatus? { peers.first { $0.id == server } }

    func isActive(_ server: ServerID) -> Bool { server == own || peer(server)?.isActive == true }

    /// It has the whole log but for the last moments, and all of the history.
    func isReady(_ server: ServerID) -> Bool {
        guard complete.contains(server) else { return false }
        return server == own || peer(server).map { $0.isActive && $0.isCaughtUp } == true
    }

    /// It could lead at once: it is ready, not held for dead, its clock is right, and it does not decline.
    func couldLead(_ server: ServerID) -> Bool {
        membership.voters.contains(server) && isReady(server) && deadSince[server.node] == nil
            && !wrongClocks.contains(server.node) && peer(server)?.declinesLeadership != true
    }

    /// Its node was removed by an operator, or runs another store and so never comes back as this server.
    func isGone(_ server: ServerID) -> Bool { listed[server.node]?.server != server }

    /// An operator wants it out.
    func isToLeave(_ server: ServerID) -> Bool { listed[server.node]?.isDraining ?? true }

    /// Held for dead, for however short a time, and silent here as well.
    func isDead(_ server: ServerID) -> Bool { deadSince[server.node] != nil && !isActive(server) }
}
