/// One server joins or leaves at a time.
public enum MembershipChange: Hashable, Sendable {
    /// Receives the log, does not vote.
    case addLearner(ServerID)
    /// A learner becomes a voter.
    case promote(ServerID)
    /// A voter or learner leaves.
    case remove(ServerID)
}

/// Membership changes (thesis §4): one server at a time, so that majorities before and after overlap.
extension RaftGroup {
    /// Appends the changed membership as one entry and returns its index; it is in force at once (thesis §4.1).
    public mutating func proposeMembership(_ change: MembershipChange) throws(RaftError) -> UInt64 {
        try checkAcceptsProposals()
        // Ongaro's correction to §4.1 (raft-dev, July 2015): two leaders could else change one membership in two ways
        // whose majorities do not overlap.
        guard commitIndex >= termStartIndex else {
            throw RaftError(.termNotCommitted, "no entry of this term is committed yet")
        }
        guard memberships.currentIndex <= commitIndex else {
            throw RaftError(.membershipChangeInProgress, "the change at \(memberships.currentIndex) is not committed")
        }
        let changed = try membership(after: change)
        appendOwn(kind: .membership, payload: changed.encoded())
        memberships.append(index: log.lastIndex, membership: changed)
        membershipChanged()
        return log.lastIndex
    }

    private func membership(after change: MembershipChange) throws(RaftError) -> GroupMembership {
        var changed = membership
        switch change {
        case .addLearner(let server):
            guard server.node.utf8.count <= 255 else { throw RaftError(.invalidServer, "the node's name is too long") }
            guard !changed.contains(server) else { throw RaftError(.alreadyMember, "the server is in the group") }
            guard changed.voters.count + changed.learners.count < min(configuration.serversMax, 255) else {
                throw RaftError(.tooManyServers, "the group is full")
            }
            changed.learners.append(server)
            return changed
        case .promote(let server):
            guard changed.learners.contains(server) else {
                throw RaftError(.unknownServer, "only a learner is promoted")
            }
            guard let peer = peers.first(where: { $0.id == server }), isCaughtUp(peer) else {
                throw RaftError(.notCaughtUp, "the learner is behind or silent")
            }
            changed.learners.removeAll { $0 == server }
            changed.voters.append(server)
        case .remove(let server):
            guard changed.contains(server) else { throw RaftError(.unknownServer, "the server is not in the group") }
            // Thesis §4.2.2: a leader that counts majorities without itself is a state nobody needs.
            guard server != id else { throw RaftError(.leaderCannotLeave, "hand leadership over first") }
            changed.voters.removeAll { $0 == server }
            changed.learners.removeAll { $0 == server }
        }
        let active = changed.voters.count { voter in
            voter == id || peers.contains { $0.id == voter && $0.isActive }
        }
        guard active >= Quorum.size(voters: changed.voters.count) else {
            throw RaftError(.quorumWouldBeLost, "\(active) of \(changed.voters.count) voters answer")
        }
        return changed
    }

    /// Thesis §4.2.1: a voter that is far behind holds up every commit that needs it. It must also have the membership
    /// in force, or it could not vote in a later election.
    func isCaughtUp(_ peer: Progress) -> Bool {
        guard peer.state == .replicate, peer.isActive, peer.match >= memberships.currentIndex else { return false }
        let lag = commitIndex - min(commitIndex, peer.match)
        return peer.match >= termStartIndex && lag <= configuration.promotionLagEntriesMax
    }

    /// Another membership is in force.
    mutating func membershipChanged() {
        isMembershipReported = false
        isVoter = membership.voters.contains(id)
        if role == .leader { refreshPeers() }
    }

    /// Makes a leader's peers follow the membership in force.
    mutating func refreshPeers() {
        let current = membership
        for position in peers.indices {
            let peer = peers[position]
            peers[position].isVoter = current.voters.contains(peer.id)
            if !current.contains(peer.id), peer.leaving == nil {
                // It is told that it has left, or it would campaign for ever (in vain, thesis §4.2.3).
                peers[position].leaving = (log.lastIndex, 4 * configuration.electionTimeoutTicks)
            } else if current.contains(peer.id) {
                peers[position].leaving = nil
            }
        }
        for server in current.voters + current.learners where server != id && positionOfPeer(server) == nil {
            peers.append(
                Progress(
                    id: server, isVoter: current.voters.contains(server), next: log.lastIndex + 1,
                    configuration: configuration))
        }
        if let target = transferTarget, !current.voters.contains(target) { transferTarget = nil }
        advanceCommit()
        confirmReads()
    }

    /// A server that left needs no more once it knows that its removal is committed.
    mutating func finishLeaving(_ position: Int) {
        guard let leaving = peers[position].leaving else { return }
        // The append that told it of the commit was sent; its answer, or a heartbeat's, shows that it still listens.
        if peers[position].match >= leaving.index, peers[position].commitSent >= leaving.index {
            peers.remove(at: position)
        }
    }
}
