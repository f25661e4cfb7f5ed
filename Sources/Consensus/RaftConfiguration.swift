/// The bounds and times of a group. Times are in ticks, whose length the host decides.
public struct RaftConfiguration: Hashable, Sendable {
    /// Ticks without a word from a leader before a server asks to be elected; the real timeout is drawn anew from
    /// `electionTimeoutTicks ..< 2 * electionTimeoutTicks` for every term (thesis §3.4).
    public var electionTimeoutTicks = 10
    /// After a restart a voter neither votes nor campaigns until a leader has shown that its log holds all that was
    /// committed, or until it has heard of none for so many ticks: then all may have been stopped. Its disk may be an
    /// older copy, which has forgotten what it promised. Even then it prefers the newest log that it hears of. Two election
    /// timeouts are enough where a voter that has forgotten nothing has itself heard of no leader for so many ticks. 0: it
    /// votes at once.
    public var restartProofTicks = 0
    /// Ticks between two heartbeats of a leader; must be below `electionTimeoutTicks`.
    public var heartbeatTicks = 1
    /// Whether followers hear at once that entries are committed, by an append of its own where nothing else goes to them;
    /// if not, with the next append or heartbeat. A follower that answers nobody from its state can wait for that, and
    /// under load the next append is near: it saves half of all messages.
    public var tellsCommitsAtOnce = true
    /// Appends under way to one follower; at the bound the leader waits for an answer.
    public var inflightMessagesMax = 256
    /// Bytes of entries under way to one follower; at the bound the leader waits for an answer.
    public var inflightBytesMax = 4 << 20
    /// Bytes of entries in one append; an entry above it travels alone.
    public var appendBytesMax = 256 << 10
    /// Bytes that were proposed here and are not committed; a proposal that would exceed it is refused,
    /// unless there are none.
    public var proposalBytesMax = 16 << 20
    /// Bytes of one payload; a bigger one is refused.
    public var entryBytesMax = 1 << 20
    /// Bytes of the log's tail kept in memory. Entries that are not yet on disk or not yet committed stay beyond it.
    public var windowBytesMax = 16 << 20
    /// Bytes of committed entries in one output; an entry above it comes alone.
    public var committedBytesMax = 1 << 20
    /// Bytes of committed entries handed out and not reported as applied; at the bound no more are handed out.
    public var applyingBytesMax = 8 << 20
    /// Read-index requests waiting for their round; at the bound further ones are refused.
    public var readsMax = 65_536
    /// How many entries a learner may be behind the commit index and still be promoted (thesis §4.2.1).
    public var promotionLagEntriesMax: UInt64 = 1_000
    /// Voters and learners together; a change that would exceed it is refused. All nodes of a cluster follow the system
    /// group, so a cluster has no more nodes than that. The encoding of a membership has no room for more.
    public var serversMax = 255

    public init() {}
}
