/// What a leader knows of another server of its group, for whoever decides about members and for metrics.
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
}

extension RaftGroup {
    /// The other servers as this leader knows them; empty unless leading.
    public var peerStatuses: [PeerStatus] {
        peers.map { peer in
            let isInstalling = if case .snapshot = peer.state { true } else { false }
            return PeerStatus(
                id: peer.id, isVoter: peer.isVoter, matchIndex: peer.match, isActive: peer.isActive,
                isInstallingSnapshot: isInstalling)
        }
    }

    /// Where leadership is being handed to; `nil` when it is not.
    public var transferringTo: ServerID? { transferTarget }
}
