/// A term is taken over from whoever names a higher one (thesis §3.3), so one message with a term near the end of the
/// numbers would deafen a server for good: it would hear nobody who is below, and nobody could be elected above it.
extension RaftGroup {
    /// No term above this is taken over, from whomever and by whatever way, and no campaign passes it. With an election
    /// in every second a group gets there after nine million years.
    public static let termMax: UInt64 = 1 << 48

    /// Whether all that the message counts by is within reason. The rest is looked at by whoever takes it: entries are of
    /// its term at most.
    mutating func isBelievable(_ message: RaftMessage) -> Bool {
        guard message.highestTerm <= Self.termMax else {
            refusedTerms &+= 1
            return false
        }
        switch message.body {
        case .preVote(let lastIndex, let lastTerm, _), .vote(let lastIndex, let lastTerm, _):
            // Who boasts of a log that nobody can have would keep servers that have restarted from campaigning.
            return lastTerm <= message.term && lastIndex <= Self.indexMax
        default: return true
        }
    }

    /// Whether the host may have installed such a snapshot; one of a higher term is nobody's.
    mutating func isBelievable(_ mark: SnapshotMark) -> Bool {
        guard mark.term > Self.termMax else { return true }
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
    /// Why a server can't go on with this log: it would hear nobody, and nobody would hear it.
    func termError(in group: GroupID) -> RaftError? {
        let highest = max(hardState.term, snapshot?.term ?? 0, terms.map(\.term).max() ?? 0)
        guard highest > RaftGroup.termMax else { return nil }
        return RaftError(
            .termTooHigh,
            "the term of group \(group.number) is \(highest), which no election leads to (at most \(RaftGroup.termMax)): a stranger or a broken "
                + "program has told it so. While most other nodes run, move this data directory away and start the node "
                + "without one: it joins empty and is copied to. If the others say the same, restore a backup")
    }
}
