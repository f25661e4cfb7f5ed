/// A term is taken over from whoever names a higher one (thesis §3.3), so one message with a term near the end of the
/// numbers would deafen a server for good: it would hear nobody who is below, and nobody could be elected above it.
///
/// A bound alone does not help: the highest term that is within it would do the same. So terms that are far beyond what
/// elections lead to are followed in steps only. Each message that names one takes a server up by a step at most: that
/// may be done again and again, as the messages of a leader are, so servers whose terms differ find together, but to use
/// up what is between `termTrusted` and `termMax` takes 2^37 messages.
extension RaftGroup {
    /// No term above this is taken over, from whomever and by whatever way, and no campaign passes it. With an election
    /// in every second a group gets there after nine million years.
    public static let termMax: UInt64 = 1 << 48
    /// Up to here a term is taken over as it is; no election leads there either.
    public static let termTrusted: UInt64 = termMax / 2
    /// By so much a message takes a server beyond `termTrusted` at most.
    public static let termStep: UInt64 = 1 << 10

    /// The highest term that is believed now.
    public var termLimit: UInt64 { min(Self.termMax, max(term, Self.termTrusted) + Self.termStep) }

    /// Whether all that the message counts by is within reason. The rest is looked at by whoever takes it: entries are of
    /// its term at most.
    mutating func admits(_ message: RaftMessage) -> Bool {
        let limit = termLimit
        guard message.highestTerm <= limit else {
            refusedTerms &+= 1
            // One step, so that it comes to an end.
            if message.term > limit, message.term <= Self.termMax, limit > term, !isRefusedForLiveLeader(message) {
                becomeFollower(term: limit, leader: nil)
            }
            return false
        }
        switch message.body {
        case .preVote(let lastIndex, let lastTerm, _), .vote(let lastIndex, let lastTerm, _):
            // A server that boasts of a log that nobody can have would keep servers that have restarted from
            // campaigning.
            return lastTerm <= message.term && lastIndex <= Self.indexMax
        default: return true
        }
    }

    /// Whether a snapshot may be installed that is this; one of a higher term is nobody's. One that is not is counted.
    public mutating func believes(_ mark: SnapshotMark) -> Bool {
        guard mark.term > termLimit else { return true }
        refusedTerms &+= 1
        return false
    }
}

extension RaftMessage {
    /// The highest term that the message names anywhere.
    public var highestTerm: UInt64 {
        switch body {
        case .preVote(_, let lastTerm, _), .vote(_, let lastTerm, _): max(term, lastTerm)
        case .append(_, let previousTerm, _, let entries):
            entries.reduce(max(term, previousTerm)) { max($0, $1.term) }
        case .appendRejected(_, _, let hintTerm): max(term, hintTerm)
        case .snapshot(let mark): max(term, mark.term)
        case .preVoteReply, .voteReply, .appendAccepted, .heartbeat, .heartbeatReply, .snapshotFailed, .timeoutNow,
            .higherTerm:
            term
        }
    }
}

extension RestoredLog {
    /// Why a server can't go on with this log: it would hear nobody, and nobody would hear it. In the last term it could
    /// never campaign again.
    func termError(in group: GroupID) -> RaftError? {
        let highest = max(hardState.term, snapshot?.term ?? 0, terms.map(\.term).max() ?? 0)
        guard highest >= RaftGroup.termMax else { return nil }
        return RaftError(
            .termTooHigh,
            "the term of group \(group.number) is \(highest), which no election leads to (it must be below \(RaftGroup.termMax)): a stranger or a "
                + "broken program has told it so. While most other nodes run, move this data directory away and start the "
                + "node without one: it joins empty and is copied to. If the others say the same, restore a backup")
    }
}
