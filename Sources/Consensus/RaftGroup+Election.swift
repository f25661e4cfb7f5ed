/// Leader election (thesis §3.4) with the pre-vote phase (§9.6), the check of the quorum (§6.2) and leadership transfer
/// (§3.10).
extension RaftGroup {
    /// Hands leadership to a voter: proposals are refused until it leads or an election timeout has passed, after which
    /// this server goes on leading (thesis §3.10).
    public mutating func transferLeadership(to target: ServerID) throws(RaftError) {
        if transferTarget == target { return }
        try checkAcceptsProposals()
        if target == id { return }
        guard let peer = peers.first(where: { $0.id == target && $0.isVoter }) else {
            throw RaftError(.unknownServer, "leadership goes to another voter only")
        }
        transferTarget = target
        electionElapsed = 0
        if peer.match == log.lastIndex { send(.timeoutNow, to: target) }
    }

    // MARK: Time

    mutating func resetElectionTimer() {
        electionElapsed = 0
        let base = max(1, configuration.electionTimeoutTicks)
        electionTimeout = base + Int(truncatingIfNeeded: random.next() % UInt64(base))
    }

    mutating func tickElection() {
        electionElapsed += 1
        guard electionElapsed >= electionTimeout else { return }
        resetElectionTimer()
        if canCampaign { startElection() }
    }

    /// The leader's time: heartbeats, and once an election timeout the check whether a majority still hears it. Without
    /// one it steps down, so that clients look elsewhere (thesis §6.2).
    mutating func tickLeader() {
        electionElapsed += 1
        heartbeatElapsed += 1
        for position in peers.indices { tickPeer(position) }
        peers.removeAll { $0.leaving.map { $0.ticksLeft <= 0 } ?? false }
        if electionElapsed >= configuration.electionTimeoutTicks {
            electionElapsed = 0
            transferTarget = nil
            let active = peers.count { $0.isVoter && $0.isRecentlyActive } + (isVoter ? 1 : 0)
            for position in peers.indices {
                peers[position].isActive = peers[position].isRecentlyActive
                peers[position].isRecentlyActive = false
            }
            if active < Quorum.size(voters: membership.voters.count) {
                becomeFollower(term: term, leader: nil)
                return
            }
        }
        if heartbeatElapsed >= configuration.heartbeatTicks {
            heartbeatElapsed = 0
            broadcastHeartbeat()
        }
    }

    // MARK: Roles

    /// A server that is no voter, by its own log, would only disturb (thesis §4.2.3); one whose state is being replaced
    /// cannot lead.
    var canCampaign: Bool { role != .leader && isVoter && installing == nil }

    /// Within an election timeout of the leader's last word, others' campaigns are not answered (thesis §4.2.3): a
    /// removed or partitioned server cannot depose a leader that works.
    var hearsLeader: Bool { leader != nil && electionElapsed < configuration.electionTimeoutTicks }

    mutating func startElection() {
        if isSoleVoter { return campaign(isTransfer: false) }
        role = .preCandidate
        leader = nil
        votes = [:]
        for voter in membership.voters where voter != id {
            send(.preVote(lastIndex: log.lastIndex, lastTerm: log.lastTerm), to: voter)
        }
        countVote(from: id, granted: true)
    }

    /// A new term, and a vote for oneself in it. Neither the own vote counts nor is another's asked for before both
    /// are on disk, together with every entry that the request boasts of.
    mutating func campaign(isTransfer: Bool) {
        becomeFollower(term: term + 1, leader: nil)
        role = .candidate
        votedFor = id
        isHardStateDirty = true
        heldForSave.append(.campaign(term: term, isTransfer: isTransfer))
    }

    mutating func requestVotes(isTransfer: Bool) {
        for voter in membership.voters where voter != id {
            send(.vote(lastIndex: log.lastIndex, lastTerm: log.lastTerm, isTransfer: isTransfer), to: voter)
        }
        countVote(from: id, granted: true)
    }

    mutating func becomeFollower(term newTerm: UInt64, leader newLeader: ServerID?) {
        let wasLeader = role == .leader
        if newTerm != term {
            term = newTerm
            votedFor = nil
            isHardStateDirty = true
        }
        role = .follower
        leader = newLeader
        votes = [:]
        resetElectionTimer()
        if wasLeader { endLeadership() }
    }

    private mutating func endLeadership() {
        peers = []
        transferTarget = nil
        uncommitted.removeAll()
        needsReadRound = false
        failedReads.append(contentsOf: pendingReads.map(\.token))
        pendingReads.removeAll()
        fetches.removeAll { $0.purpose != .apply }
    }

    mutating func becomeLeader() {
        role = .leader
        leader = id
        votes = [:]
        electionElapsed = 0
        heartbeatElapsed = 0
        peers = []
        readRound = 0
        uncommitted.removeAll()
        // Thesis §6.4: an entry of the own term, through which the older ones become committed.
        termStartIndex = log.lastIndex + 1
        refreshPeers()
        appendOwn(kind: .empty, payload: [])
    }

    /// The sender leads this term. `false` when that cannot be true.
    mutating func followLeader(_ sender: ServerID) -> Bool {
        switch role {
        case .leader: return false
        case .follower:
            guard leader == nil || leader == sender else { return false }
            leader = sender
            electionElapsed = 0
        case .preCandidate, .candidate:
            becomeFollower(term: term, leader: sender)
        }
        return true
    }

    // MARK: Votes

    mutating func countVote(from voter: ServerID, granted: Bool) {
        guard membership.voters.contains(voter), votes[voter] == nil else { return }
        votes[voter] = granted
        let counted = votes.filter { membership.voters.contains($0.key) }
        let yes = counted.count { $0.value }
        switch Quorum.result(granted: yes, rejected: counted.count - yes, voters: membership.voters.count) {
        case .pending: return
        case .won: if role == .preCandidate { campaign(isTransfer: false) } else { becomeLeader() }
        case .lost: becomeFollower(term: term, leader: nil)
        }
    }

    /// Thesis §3.6.1: a log is at least as new if its last term is higher, or equal and it is no shorter.
    private func isUpToDate(lastIndex: UInt64, lastTerm: UInt64) -> Bool {
        lastTerm > log.lastTerm || (lastTerm == log.lastTerm && lastIndex >= log.lastIndex)
    }

    /// Not even the term of such a request is taken over (thesis §4.2.3).
    func isRefusedForLiveLeader(_ message: RaftMessage) -> Bool {
        switch message.body {
        case .preVote, .vote(_, _, isTransfer: false): hearsLeader
        default: false
        }
    }

    mutating func answerPreVote(_ message: RaftMessage, lastIndex: UInt64, lastTerm: UInt64) {
        if hearsLeader { return }
        let granted = isUpToDate(lastIndex: lastIndex, lastTerm: lastTerm)
        sendInPersistedTerm(.preVoteReply(granted: granted), to: message.from)
    }

    /// One vote a term (thesis §3.4). Votes are given whatever the own log says of the members: it may be behind
    /// (thesis §4.2).
    mutating func answerVote(_ message: RaftMessage, lastIndex: UInt64, lastTerm: UInt64, isTransfer: Bool) {
        if hearsLeader, !isTransfer, votedFor != message.from { return }
        let mayVote = votedFor == message.from || (votedFor == nil && leader == nil)
        guard mayVote, isUpToDate(lastIndex: lastIndex, lastTerm: lastTerm) else {
            sendInPersistedTerm(.voteReply(granted: false), to: message.from)
            return
        }
        if votedFor == nil {
            votedFor = message.from
            isHardStateDirty = true
        }
        // A voter gives its candidate time (thesis §3.4).
        electionElapsed = 0
        if role == .preCandidate { role = .follower }
        sendAfterSave(.voteReply(granted: true), to: message.from)
    }

    /// A leader of an older term must learn that it is deposed; a candidate that it must catch up. Anything else of an
    /// older term, replies above all, means nothing now.
    mutating func answerOlderTerm(_ message: RaftMessage) {
        switch message.body {
        case .append, .heartbeat, .snapshot, .preVote, .vote:
            sendInPersistedTerm(.higherTerm, to: message.from)
        case .preVoteReply, .voteReply, .appendAccepted, .appendRejected, .heartbeatReply, .snapshotFailed,
            .timeoutNow, .higherTerm:
            break
        }
    }
}
