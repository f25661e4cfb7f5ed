/// A message of one server's core to another's. The transport vouches for `from`; nothing else in it is trusted.
public struct RaftMessage: Hashable, Sendable {
    public enum Body: Hashable, Sendable {
        /// "Would you vote for me in the term after mine?" (thesis §9.6). Changes nothing at the receiver. `hasWaited`: the
        /// sender has forgotten nothing and has known of no leader for `RaftConfiguration.restartProofTicks`.
        case preVote(lastIndex: UInt64, lastTerm: UInt64, hasWaited: Bool = false)
        /// Whether the receiver would vote for the asker in the next term.
        case preVoteReply(granted: Bool)
        /// RequestVote (thesis §3.4). `isTransfer`: the leader itself asked for this election, so a voter that hears
        /// the leader answers all the same (thesis §4.2.3).
        case vote(lastIndex: UInt64, lastTerm: UInt64, isTransfer: Bool)
        /// Whether the receiver has voted for the asker in this term.
        case voteReply(granted: Bool)
        /// AppendEntries (thesis §3.5).
        case append(previousIndex: UInt64, previousTerm: UInt64, commitIndex: UInt64, entries: [Entry])
        /// The receiver's disk equals the leader's log up to `matchIndex`.
        case appendAccepted(matchIndex: UInt64)
        /// The entry at `previousIndex` was not the leader's. The logs can agree at `hintIndex` at most, where the
        /// receiver has `hintTerm` (0: unknown); a whole term is skipped at a time (thesis §3.5, end).
        case appendRejected(previousIndex: UInt64, hintIndex: UInt64, hintTerm: UInt64)
        /// `readRound` numbers the leader's rounds of read-index confirmation (thesis §6.4).
        case heartbeat(commitIndex: UInt64, readRound: UInt64)
        /// The receiver follows the sender of that heartbeat. `declines`: it takes no leadership now, so that it is not
        /// offered any; also the answer to a `timeoutNow` that it does not follow, with round 0.
        case heartbeatReply(readRound: UInt64, declines: Bool = false)
        /// InstallSnapshot (thesis §5.1) without the data: the receiver's host fetches that from the sender's host.
        case snapshot(SnapshotMark)
        /// The receiver could not install the snapshot that ends at `index`.
        case snapshotFailed(index: UInt64)
        /// "Become a candidate at once" (thesis §3.10).
        case timeoutNow
        /// Answer to a leader or candidate of an older term; the message's term is all there is to know.
        case higherTerm
    }

    /// The group it belongs to; a core drops those of others.
    public var group: GroupID
    /// The sender, as certified by the transport.
    public var from: ServerID
    /// The receiver; a core drops those for another, also for another store on its node.
    public var to: ServerID
    /// The sender's current term.
    public var term: UInt64
    /// The content.
    public var body: Body

    public init(group: GroupID, from: ServerID, to: ServerID, term: UInt64, body: Body) {
        self.group = group
        self.from = from
        self.to = to
        self.term = term
        self.body = body
    }
}

extension RaftMessage.Body {
    /// Only the leader of the message's term sends these.
    var isFromLeader: Bool {
        switch self {
        case .append, .heartbeat, .snapshot, .timeoutNow: true
        case .preVote, .preVoteReply, .vote, .voteReply, .appendAccepted, .appendRejected, .heartbeatReply,
            .snapshotFailed, .higherTerm:
            false
        }
    }
}
