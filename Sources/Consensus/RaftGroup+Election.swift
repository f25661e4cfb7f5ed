/// Leader election (thesis §3.4) with the pre-vote phase (§9.6), the check of the quorum (§6.2) and leadership transfer
/// (§3.10).
extension RaftGroup {
    /// Hands leadership to a voter: proposals are refused until it leads, has said that it declines, or an election timeout has
    /// passed, after which this server goes on leading (thesis §3.10).
    public mutating func transferLeadership(to target: ServerID) throws(RaftError) {
        if transferTarget == target { return }
        try checkAcceptsProposals()
        if target == id { return }
        guard let peer = peers.first(where: { $0.id == target && $0.isVoter }) else {
            throw RaftError(.unknownServer, "leadership goes to another voter only")
        }
        guard !peer.declines else { throw RaftError(.leadershipDeclined, "\(target) takes no leadership now") }
        transferTarget = target
        electionElapsed = 0
        if peer.match == log.lastIndex { send(.timeoutNow, to: target) }
    }

    // MARK: Hints of the host

    /// The connection to a node has ended and was not replaced by another one: if the leader is there, its process may
    /// have died. A follower then asks for a pre-vote after a few ticks instead of a whole election timeout, and grants
    /// others theirs. Only a hint: nothing but time depends on it, and a leader that others still hear stays, since they
    /// refuse. The voters wait for different times, so that they do not compete.
    public mutating func onNodeLost(_ node: String) {
        guard !isHalted, role == .follower, let leader, leader.node == node, leader != id, !isLeaderDoubted else {
            return
        }
        isLeaderDoubted = true
        electionTimeout = min(electionTimeout, electionElapsed + 1 + pauseAfterLeader(leader))
    }

    /// The first is another one in each group, so that one node does not get all that a dead one has led.
    private func pauseAfterLeader(_ leader: ServerID) -> Int {
        let heirs = membership.voters.filter { $0 != leader }.sorted()
        guard let position = heirs.firstIndex(of: id) else { return 0 }
        let rank = (position + Int(group.number) % heirs.count) % heirs.count
        return rank * Self.pauseBetweenHeirsTicks
    }

    /// Enough for the one before to have asked and been answered.
    static let pauseBetweenHeirsTicks = 2

    /// The process stood still (SIGSTOP, a machine that slept) for about so many ticks, which nobody will make up for.
    /// After an election timeout the others may have another leader: a leader steps down before it answers anybody, and
    /// a server that follows does so no longer until it hears the leader again. Call it before anything else.
    public mutating func clockJumped(ticks: Int) {
        guard !isHalted, ticks > 0, !isSoleVoter else { return }
        if ticks >= configuration.electionTimeoutTicks {
            becomeFollower(term: term, leader: nil)
        } else if role == .leader {
            electionElapsed += ticks
        }
    }

    // MARK: Time

    mutating func resetElectionTimer() {
        electionElapsed = 0
        let base = max(1, configuration.electionTimeoutTicks)
        electionTimeout = base + Int(truncatingIfNeeded: random.next() % UInt64(base))
    }

    mutating func tickElection() {
        if leader == nil { leaderlessTicks += 1 }
        tickProof()
        if let heard = heardLog {
            heardLog = heard.ticksLeft > 1 ? (heard.lastTerm, heard.lastIndex, heard.ticksLeft - 1) : nil
        }
        electionElapsed += 1
        guard electionElapsed >= electionTimeout else { return }
        resetElectionTimer()
        // Also of one who may not campaign: it must not refuse others for a leader that is silent.
        if role == .follower { leader = nil }
        guard canCampaign else { return }
        if !mayLead, !isSoleVoter, withheldCampaigns < Self.withheldCampaignsMax {
            withheldCampaigns += 1
        } else {
            startElection()
        }
    }

    /// Election timeouts that a replica leaves to those that may lead.
    static let withheldCampaignsMax = 3

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
        handOverPause = max(0, handOverPause - 1)
        if !mayLead, handOverPause == 0 { transferLeadership() }
    }

    /// Election timeouts from the last offer of a round, which has one to be taken, to the first of the next.
    static let handOverPauseTimeouts = 5

    /// To the voter that has most, and if that does not take it, to the next one.
    private mutating func transferLeadership() {
        guard isEstablished, transferTarget == nil else { return }
        let heirs = peers.filter { $0.isVoter && $0.isActive && !$0.declines }.sorted {
            ($1.match, $0.id) < ($0.match, $1.id)
        }
        guard !heirs.isEmpty else { return }
        let heir = heirs[handOvers % heirs.count].id
        handOvers &+= 1
        // While one is asked nothing is proposed: where all let it pass the group must not stand still for ever.
        if handOvers.isMultiple(of: heirs.count) {
            handOverPause = configuration.electionTimeoutTicks * Self.handOverPauseTimeouts
        }
        try? transferLeadership(to: heir)
    }

    // MARK: Roles

    /// A server that is no voter, by its own log, would only disturb (thesis §4.2.3); one whose state is being replaced
    /// cannot lead.
    var canCampaign: Bool {
        role != .leader && isVoter && installing == nil && !isUnproven && term < Self.termMax
            && (isSoleVoter || isAsNewAsHeard(lastIndex: log.lastIndex, lastTerm: log.lastTerm))
    }

    /// Within an election timeout of the leader's last word, others' campaigns are not answered (thesis §4.2.3): a
    /// removed or partitioned server cannot depose a leader that works.
    var hearsLeader: Bool {
        leader != nil && !isLeaderDoubted && electionElapsed < configuration.electionTimeoutTicks
    }

    mutating func startElection() {
        if isSoleVoter { return campaign(isTransfer: false) }
        role = .preCandidate
        leader = nil
        votes = [:]
        for voter in membership.voters where voter != id {
            askBefore(voter)
        }
        countVote(from: id, granted: true)
    }

    /// Sends a pre-vote.
    mutating func askBefore(_ voter: ServerID) {
        send(.preVote(lastIndex: log.lastIndex, lastTerm: log.lastTerm, hasWaited: hasWaited), to: voter)
    }

    /// A new term, and a vote for oneself in it. Neither the own vote counts nor is another's asked for before both
    /// are on disk, together with every entry that the request boasts of.
    mutating func campaign(isTransfer: Bool) {
        // Nobody would hear the next one.
        guard term < Self.termMax else { return }
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
            agreedIndex = 0
            votedFor = nil
            isHardStateDirty = true
        }
        role = .follower
        leader = newLeader
        isLeaderDoubted = false
        if newLeader != nil { withheldCampaigns = 0 }
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
        isLeaderDoubted = false
        withheldCampaigns = 0
        (handOvers, handOverPause) = (0, 0)
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
            withheldCampaigns = 0
            if isLeaderDoubted {
                isLeaderDoubted = false
                resetElectionTimer()
            }
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
        (log.lastTerm, log.lastIndex) <= (lastTerm, lastIndex)
            && isAsNewAsHeard(lastIndex: lastIndex, lastTerm: lastTerm)
    }

    /// Not even the term of such a request is taken over (thesis §4.2.3).
    func isRefusedForLiveLeader(_ message: RaftMessage) -> Bool {
        switch message.body {
        case .preVote, .vote(_, _, isTransfer: false): hearsLeader
        default: false
        }
    }

    mutating func answerPreVote(_ message: RaftMessage, lastIndex: UInt64, lastTerm: UInt64) {
        if hearsLeader || isUnproven { return }
        let granted = isUpToDate(lastIndex: lastIndex, lastTerm: lastTerm)
        sendInPersistedTerm(.preVoteReply(granted: granted), to: message.from)
    }

    /// One vote a term (thesis §3.4). Votes are given whatever the own log says of the members: it may be behind
    /// (thesis §4.2).
    mutating func answerVote(_ message: RaftMessage, lastIndex: UInt64, lastTerm: UInt64, isTransfer: Bool) {
        if hearsLeader, !isTransfer, votedFor != message.from { return }
        if isUnproven { return }
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
