import Consensus

/// A node as the system group lists it. An operator has removed a node that is not listed.
public struct PlacementNode: Hashable, Sendable {
    /// The node with the store that it has now.
    public var server: ServerID
    /// It keeps shards; a gateway does not.
    public var holdsData: Bool
    /// An operator is taking it out of service.
    public var isDraining: Bool

    public init(server: ServerID, holdsData: Bool = true, isDraining: Bool = false) {
        self.server = server
        self.holdsData = holdsData
        self.isDraining = isDraining
    }
}

/// Where one group belongs.
public struct GroupPlacement: Hashable, Sendable {
    /// All servers that may vote in this group, the wanted ones first, the first of all the preferred leader. Those
    /// behind `voterCount` stand in for the dead.
    public var ranking: [ServerID]
    /// How many of the ranking are to vote.
    public var voterCount: Int
    /// The servers that follow the group besides.
    public var learners: Set<ServerID>

    public init(ranking: [ServerID], voterCount: Int, learners: Set<ServerID> = []) {
        self.ranking = ranking
        self.voterCount = voterCount
        self.learners = learners
    }

    /// The servers that are to vote, the preferred leader first.
    public var voters: ArraySlice<ServerID> { ranking.prefix(voterCount) }
}
