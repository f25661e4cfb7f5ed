/// A leader's knowledge of another server of its group, for decisions about members and for metrics.
public struct PeerStatus: Hashable, Sendable {
    /// Which server.
    public var id: ServerID
    /// It counts in majorities.
    public var isVoter: Bool
    /// Its disk equals the leader's log up to here.
    public var matchIndex: UInt64
    /// Heard from within the last one or two election timeouts.
    public var isActive: Bool
    /// It was offered a snapshot and has not answered.
    public var isInstallingSnapshot: Bool
    /// As a learner it could be promoted now, as a voter it could lead: it has the membership in force and is at most
    /// `RaftConfiguration.promotionLagEntriesMax` behind (thesis §4.2.1).
    public var isCaughtUp: Bool
    /// It says that it takes no leadership.
    public var declinesLeadership: Bool

    public init(
        id: ServerID, isVoter: Bool, matchIndex: UInt64, isActive: Bool, isInstallingSnapshot: Bool = false,
        isCaughtUp: Bool, declinesLeadership: Bool = false
    ) {
        self.id = id
        self.isVoter = isVoter
        self.matchIndex = matchIndex
        self.isActive = isActive
        self.isInstallingSnapshot = isInstallingSnapshot
        self.isCaughtUp = isCaughtUp
        self.declinesLeadership = declinesLeadership
    }
}

extension RaftGroup {
    /// The other servers as this leader knows them; empty unless leading.
    public var peerStatuses: [PeerStatus] {
        peers.map { peer in
            let isInstalling = if case .snapshot = peer.state { true } else { false }
            return PeerStatus(
                id: peer.id, isVoter: peer.isVoter, matchIndex: peer.match, isActive: peer.isActive,
                isInstallingSnapshot: isInstalling, isCaughtUp: isCaughtUp(peer), declinesLeadership: peer.declines)
        }
    }

    /// A membership change or a hand-over can be proposed now: an entry of this leader's term is committed, so is the
    /// newest membership, and leadership is not being handed over.
    public var isSettled: Bool {
        !isHalted && isEstablished && memberships.currentIndex <= commitIndex && transferTarget == nil
    }

    /// Where leadership is being handed to; `nil` when it is not.
    public var transferringTo: ServerID? { transferTarget }
}
