/// A read that waits for the confirmation that this server still leads.
struct PendingRead: Sendable {
    var token: UInt64
    /// The index to apply before the read; `nil` until the leader has committed an entry of its term.
    var index: UInt64?
    /// The round whose answers confirm it.
    var round: UInt64
}

/// Linearizable reads without the log (thesis §6.4).
extension RaftGroup {
    /// Answered in `RaftOutput.readStates`, or in `failedReads` when leadership is lost before. All requests of a turn
    /// share one round of heartbeats; a sole voter answers at once.
    public mutating func readIndex(_ token: UInt64) throws(RaftError) {
        guard !isHalted else { throw RaftError(.storageFailed, "a write failed on this replica") }
        guard role == .leader else {
            throw RaftError(.notLeader, "this replica does not lead the group", leader: leader)
        }
        guard pendingReads.count < configuration.readsMax else {
            throw RaftError(.tooManyReads, "\(pendingReads.count) reads are waiting")
        }
        if isSoleVoter, isEstablished {
            readStates.append(RaftOutput.ReadState(token: token, index: commitIndex))
            return
        }
        // Before an own entry is committed the leader does not know what is (§6.4, step 1).
        pendingReads.append(
            PendingRead(token: token, index: isEstablished ? commitIndex : nil, round: readRound + 1))
        needsReadRound = true
    }

    mutating func sendReadRound() {
        guard needsReadRound else { return }
        needsReadRound = false
        readRound += 1
        broadcastHeartbeat()
    }

    /// Lets those reads go that a majority's answers have confirmed.
    mutating func confirmReads() {
        guard !pendingReads.isEmpty, isEstablished else { return }
        var rounds: [UInt64] = isVoter ? [.max] : []
        for peer in peers where peer.isVoter { rounds.append(peer.readRound) }
        let confirmed = Quorum.reached(rounds)
        pendingReads.removeAll { read in
            guard read.round <= confirmed else { return false }
            readStates.append(RaftOutput.ReadState(token: read.token, index: read.index ?? commitIndex))
            return true
        }
    }
}
