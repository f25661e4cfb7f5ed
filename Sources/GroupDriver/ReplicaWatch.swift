import Consensus

/// The voters of a group that do not keep up, as its leader sees them: those that it does not hear, and those whose log
/// lacks what was committed at the look before. Pure.
struct ReplicaWatch: Sendable {
    /// How far the group was committed at the last look; nil: this server did not lead it then.
    private var mark: (term: UInt64, index: UInt64)?
    private(set) var behind: [ServerID] = []

    /// Call it at even distances: a voter has the time between two looks to catch up.
    mutating func look(at peers: [PeerStatus], term: UInt64, commitIndex: UInt64) {
        defer { mark = (term, commitIndex) }
        // Within the first time nobody may have answered this leader.
        guard let mark, mark.term == term else {
            behind = []
            return
        }
        behind = peers.filter { $0.isVoter && (!$0.isActive || $0.matchIndex < mark.index) }.map(\.id)
    }

    /// This server does not lead the group.
    mutating func reset() {
        guard mark != nil else { return }
        (mark, behind) = (nil, [])
    }
}
