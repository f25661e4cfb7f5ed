/// Restart: the rules for a voter that has begun anew, before it votes again. Its disk may be an older copy, which has
/// forgotten what the server promised: entries that it had acked, votes that it had given (DECISIONS.md, "Restarts").
extension RaftGroup {
    /// Restarted, and not shown by a leader that its disk has all that it had promised
    /// (`RaftConfiguration.restartProofTicks`). A sole voter has nobody to ask.
    var isUnproven: Bool { unprovenTicksLeft != nil && !isSoleVoter }

    /// A leader has shown that the own log has all that was committed.
    mutating func trustDisk() {
        unprovenTicksLeft = nil
        waitingAsks = []
        isDiskTrusted = true
        heardLog = nil
    }

    /// Somebody wants to be elected for a log that ends there. A server that may have forgotten what it acked, and
    /// votes because there was no leader for long, then neither asks for votes with an older log nor votes for one:
    /// what it had acked may be in that newer one alone. This lasts only while candidates go on to claim such a log.
    mutating func hearLog(lastIndex: UInt64, lastTerm: UInt64) {
        guard !isDiskTrusted, isAsNewAsHeard(lastIndex: lastIndex, lastTerm: lastTerm) else { return }
        heardLog = (lastTerm, lastIndex, configuration.restartProofTicks)
    }

    func isAsNewAsHeard(lastIndex: UInt64, lastTerm: UInt64) -> Bool {
        guard let heard = heardLog else { return true }
        return (heard.lastTerm, heard.lastIndex) <= (lastTerm, lastIndex)
    }

    /// Time without a leader: when it is over all may have been stopped, and somebody has to begin.
    mutating func tickProof() {
        guard let left = unprovenTicksLeft, leader == nil else { return }
        unprovenTicksLeft = max(0, left - 1)
        if isProofOverdue { endProof() }
    }

    /// A whole `restartProofTicks`, or two election timeouts where another voter vouches for the rest: within two of
    /// them everybody in reach who leads has sent heartbeats, and everybody else has asked for a vote.
    private var isProofOverdue: Bool {
        guard let left = unprovenTicksLeft else { return false }
        let waited = configuration.restartProofTicks - left
        return left <= 0 || (othersHaveWaited && waited >= 2 * configuration.electionTimeoutTicks)
    }

    /// The sender of a pre-vote is answered when the proof is there or is waited for no longer. Whether that is now,
    /// in which case the message has been answered.
    mutating func keepAsk(_ message: RaftMessage, hasWaited: Bool) -> Bool {
        guard membership.voters.contains(message.from) else { return false }
        waitingAsks.removeAll { $0.from == message.from }
        waitingAsks.append(message)
        if hasWaited { othersHaveWaited = true }
        guard leader == nil, isProofOverdue else { return false }
        endProof()
        return true
    }

    private mutating func endProof() {
        unprovenTicksLeft = nil
        let asks = waitingAsks
        waitingAsks = []
        var isOlderAsked = false
        for ask in asks where ask.term == term {
            guard case .preVote(let lastIndex, let lastTerm, _) = ask.body else { continue }
            if (lastTerm, lastIndex) < (log.lastTerm, log.lastIndex) { isOlderAsked = true }
            answerPreVote(ask, lastIndex: lastIndex, lastTerm: lastTerm)
        }
        // They wait for a leader and can't become one.
        guard isOlderAsked, role == .follower, leader == nil, mayLead, canCampaign else { return }
        resetElectionTimer()
        startElection()
    }

    /// The sender's statement in a pre-vote: it has not forgotten anything, and nobody in its reach has led for long.
    var hasWaited: Bool {
        configuration.restartProofTicks > 0 && isDiskTrusted && leaderlessTicks >= configuration.restartProofTicks
    }
}
