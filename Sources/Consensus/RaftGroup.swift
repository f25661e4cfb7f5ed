import ChatModel

/// One server's part in one Raft group, as a value: no clock, no I/O, no randomness but the seed's.
///
/// After every input the host calls `takeOutput()` and does what it says. "Thesis" is D. Ongaro, "Consensus: Bridging
/// Theory and Practice", 2014. Messages may be lost, doubled, reordered, late or wrong; none can make this trap or
/// break what is committed, as long as `from` is true and no majority lies.
public struct RaftGroup: Sendable {
    /// The role of a server in the current term (thesis §3.2, §9.6).
    public enum Role: Hashable, Sendable, CaseIterable {
        /// Takes entries from a leader. Next: `preCandidate`; `candidate` when leadership is handed to it.
        case follower
        /// Asks whether it could win. Next: `candidate`, `follower`.
        case preCandidate
        /// Asks for votes in a new term. Next: `leader`, `follower`, `preCandidate`.
        case candidate
        /// Appends and replicates. Next: `follower`.
        case leader
    }

    /// How a server comes to be.
    public enum Start: Sendable {
        /// A new group, created on all its voters with the same membership.
        case bootstrap(GroupMembership)
        /// A new server that waits until a leader contacts it.
        case join
        /// A server with a past.
        case restored(RestoredLog)
    }

    /// No index of a peer is believed above this, so that counting on never overflows. Terms: `termMax`.
    static let indexMax: UInt64 = 1 << 62

    /// This server.
    public let id: ServerID
    /// The group that it takes part in.
    public let group: GroupID
    /// Bounds and times.
    public let configuration: RaftConfiguration

    // State that the store keeps.
    /// The current term; 0 before the first election.
    public internal(set) var term: UInt64 = 0
    /// The server that got this one's vote in the current term.
    public internal(set) var votedFor: ServerID?
    var log: RaftLog
    var memberships: MembershipHistory { didSet { isSoleVoter = memberships.isSoleVoter(id) } }
    /// Nobody else has to be asked about anything. Stored, because it is asked with each call to a room.
    public private(set) var isSoleVoter = false
    /// The newest snapshot that the host has.
    public internal(set) var snapshot: SnapshotMark?

    // State that a crash forgets.
    /// The role of this server in the current term.
    public internal(set) var role = Role.follower
    /// The current term's leader; `nil` while unknown.
    public internal(set) var leader: ServerID? {
        didSet { if leader != nil { (leaderlessTicks, othersHaveWaited) = (0, false) } }
    }
    /// Everything up to here is committed, as far as known here.
    public internal(set) var commitIndex: UInt64
    /// As far as the host has reported.
    public internal(set) var appliedIndex: UInt64
    /// Up to here committed entries have come out. After `persistFailed()` a host that has kept its state goes on with
    /// this as the applied index.
    public internal(set) var handedOutIndex: UInt64
    /// Up to here an append of this term's leader has shown that the own log is the leader's. Only so far is a commit
    /// index believed that comes without entries: what the leader holds for acked this server may have forgotten.
    var agreedIndex: UInt64 = 0
    /// Sizes of what was given out and not applied.
    var applying: Inflights
    var applyFetch: RaftOutput.Fetch?
    var isApplyFetchPaused = false
    var fetchedToApply: [Entry] = []
    /// The snapshot that the host is installing.
    public internal(set) var installing: RaftOutput.SnapshotOffer?
    /// A write failed; every input is ignored from now on.
    public internal(set) var isHalted = false
    /// Messages and answers that made no sense and were dropped.
    public internal(set) var ignoredInputs: UInt64 = 0
    /// Messages among them, and snapshots, that named a term beyond what was believed (`termLimit`).
    public internal(set) var refusedTerms: UInt64 = 0

    // Elections.
    /// Ticks left in which this server, restarted, says nothing about elections; nil once its log is known to be whole.
    var unprovenTicksLeft: Int?
    /// Pre-votes that wait for that, the newest of each voter.
    var waitingAsks: [RaftMessage] = []
    /// A voter that has forgotten nothing has known of no leader for so long.
    var othersHaveWaited = false
    /// Ticks since a leader was known, in this life.
    var leaderlessTicks = 0
    /// No leader has shown since a restart that the log is whole; the time for that may be over.
    var isDiskTrusted = true
    /// The newest log that anybody has boasted of since the restart, and for how many ticks that counts; nil once the
    /// own one is known to be whole.
    var heardLog: (lastTerm: UInt64, lastIndex: UInt64, ticksLeft: Int)?
    var random: SplitMix64
    var electionElapsed = 0
    var electionTimeout = 0
    var votes: [ServerID: Bool] = [:]
    var isVoter = false
    /// The host has lost the connection to the leader, which has not been heard from since.
    var isLeaderDoubted = false
    /// Whether this replica may lead; the host says no while the history is not all here. Then it votes as ever, ignores
    /// a leadership that is handed to it, and hands over one that it has. It campaigns only after
    /// `withheldCampaignsMax` election timeouts without a leader: it may be the one with the longest log, without whose
    /// entries nobody can win. A sole voter leads in any case. Not kept over a restart.
    public var mayLead = true { didSet { if oldValue, !mayLead { decline() } } }
    /// Whether this replica takes a leadership that is handed to it. Not while its process ends in order: it hands over
    /// once what it leads, and would have to be replaced by an election a moment later. Not kept over a restart.
    public var takesLeadership = true { didSet { if oldValue, !takesLeadership { decline() } } }
    /// The leader hears it with each heartbeat's answer. Only a hint: it decides about offers, and about no vote.
    var declinesLeadership: Bool { !mayLead || !takesLeadership }
    /// Campaigns that were left to others since the last leader.
    var withheldCampaigns = 0

    // Leadership.
    var peers: [Progress] = []
    var heartbeatElapsed = 0
    /// The entry with which this leader's term began.
    var termStartIndex: UInt64 = 0
    var uncommitted: Inflights
    var transferTarget: ServerID?
    /// Hand-overs tried because this replica may not lead; each time to another one.
    var handOvers = 0
    /// Ticks before the next one: where nobody takes the leadership, this replica leads meanwhile.
    var handOverPause = 0
    var readRound: UInt64 = 0
    var pendingReads: [PendingRead] = []
    var needsReadRound = false

    // Output.
    var saves = SaveLedger()
    var isHardStateDirty = false
    var snapshotToSave: SnapshotMark?
    var replacesLog = false
    var truncateFrom: UInt64?
    var messages: [RaftMessage] = []
    var heldForSave: [SaveLedger.Held] = []
    var readStates: [RaftOutput.ReadState] = []
    var failedReads: [UInt64] = []
    var reportedLeadership = RaftOutput.Leadership(role: .follower, term: 0, leader: nil)
    var isMembershipReported = false
    var fetches: [RaftOutput.Fetch] = []
    var snapshotOffer: RaftOutput.SnapshotOffer?

    /// Throws `corruptLog` when what was restored contradicts itself. `randomSeed` should differ between the servers
    /// of a group, or their timeouts coincide.
    public init(
        id: ServerID, group: GroupID, configuration: RaftConfiguration = RaftConfiguration(), start: Start,
        randomSeed: UInt64
    ) throws(RaftError) {
        self.id = id
        self.group = group
        self.configuration = configuration
        random = SplitMix64(seed: randomSeed)
        applying = Inflights(bytesMax: configuration.applyingBytesMax)
        uncommitted = Inflights(bytesMax: configuration.proposalBytesMax)
        switch start {
        case .bootstrap(let membership):
            // The initial membership is a snapshot of nothing: it needs no entry that could be missed.
            guard GroupMembership(decoding: membership.encoded()) == membership else {
                throw RaftError(.corruptLog, "the initial membership names a server twice or has no encoding")
            }
            let mark = SnapshotMark(index: 0, term: 0, membership: membership)
            log = RaftLog()
            memberships = MembershipHistory(index: 0, membership: membership)
            snapshot = mark
            snapshotToSave = mark
            commitIndex = 0
            appliedIndex = 0
        case .join:
            log = RaftLog()
            memberships = MembershipHistory(index: 0, membership: GroupMembership(voters: []))
            commitIndex = 0
            appliedIndex = 0
        case .restored(let restored):
            if let error = restored.termError(in: group) { throw error }
            let content = try RestoredContent(restored)
            term = restored.hardState.term
            votedFor = restored.hardState.votedFor
            log = content.log
            memberships = content.memberships
            snapshot = restored.snapshot
            replacesLog = content.replacesLog
            // Without entries the store may not have the mark itself, if a crash came before the save.
            snapshotToSave = content.replacesLog || restored.firstIndex == 0 ? restored.snapshot : nil
            // Nor its term, which no log on disk may be ahead of.
            isHardStateDirty = snapshotToSave != nil
            commitIndex = content.appliedIndex
            appliedIndex = content.appliedIndex
            reportedLeadership.term = restored.hardState.term
            if configuration.restartProofTicks > 0 {
                unprovenTicksLeft = configuration.restartProofTicks
                isDiskTrusted = false
            }
        }
        handedOutIndex = appliedIndex
        resetElectionTimer()
        isSoleVoter = memberships.isSoleVoter(id)
        membershipChanged()
        // Nobody else can be leader and nobody else need be asked.
        if isSoleVoter { campaign(isTransfer: false) }
    }

    /// The last entry, on disk or not.
    public var lastIndex: UInt64 { log.lastIndex }
    /// The term of the last entry.
    public var lastTerm: UInt64 { log.lastTerm }
    /// Everything up to here is on disk.
    public var persistedIndex: UInt64 { log.persistedIndex }
    /// The first entry that this log still has.
    public var firstIndex: UInt64 { log.offset + 1 }
    /// The membership in force, which is the newest in the log, committed or not (thesis §4.1).
    public var membership: GroupMembership { memberships.current }
    /// Leads the current term.
    public var isLeader: Bool { role == .leader }
    /// Whether this leader has committed an entry of its own term, from when on it knows what is committed.
    public var isEstablished: Bool { role == .leader && commitIndex >= termStartIndex }
    /// How many entries the newest one is ahead of the newest committed one.
    public var commitLag: UInt64 { lastIndex - min(lastIndex, commitIndex) }

    /// One unit of time has passed.
    public mutating func tick() {
        guard !isHalted else { return }
        isApplyFetchPaused = false
        if role == .leader { tickLeader() } else { tickElection() }
    }

    /// Appends payloads, each as one entry, and returns their indices. They are decided when they come out as
    /// committed with the present term; an entry of another term at such an index means that they are lost; after a
    /// change of leadership neither may be known for a while.
    public mutating func propose(_ payloads: [[UInt8]]) throws(RaftError) -> ClosedRange<UInt64> {
        try checkAcceptsProposals()
        guard !payloads.isEmpty else { throw RaftError(.emptyProposal, "a proposal needs a payload") }
        var bytes = 0
        for payload in payloads {
            guard payload.count <= configuration.entryBytesMax else {
                throw RaftError(.entryTooLarge, "a payload has \(payload.count) bytes")
            }
            bytes += payload.count + RaftLog.entryOverheadBytes
        }
        guard uncommitted.bytes + bytes <= configuration.proposalBytesMax || uncommitted.isEmpty else {
            throw RaftError(.tooManyUncommitted, "\(uncommitted.bytes) bytes are not committed yet")
        }
        let first = log.lastIndex + 1
        for payload in payloads {
            log.append(Entry(index: log.lastIndex + 1, term: term, kind: .command, payload: payload))
        }
        uncommitted.add(lastIndex: log.lastIndex, bytes: bytes)
        return first...log.lastIndex
    }

    /// The save with this number, and all before it, are on disk. Late, doubled and unknown numbers do nothing.
    public mutating func persisted(save number: UInt64) {
        guard !isHalted, let (index, released) = saves.complete(number) else { return }
        log.persisted(upTo: index)
        for item in released { release(item) }
        if role == .leader { advanceCommit() }
    }

    /// A save could not be written. The replica's memory may differ from its disk for good, so it stops leading, voting
    /// and answering; the host makes it anew from what is on disk (`Start.restored`). Nothing that waited for a save
    /// will be sent. A leader passes leadership on if it can.
    public mutating func persistFailed() {
        guard !isHalted else { return }
        let heir =
            role == .leader
            ? peers.filter { $0.isVoter && $0.isRecentlyActive && !$0.declines }.max { $0.match < $1.match } : nil
        saves.discardAll()
        heldForSave.removeAll()
        messages.removeAll()
        fetches.removeAll()
        becomeFollower(term: term, leader: nil)
        isHalted = true
        if let heir { send(.timeoutNow, to: heir.id) }
    }

    /// The host has applied everything up to here.
    public mutating func applied(upTo index: UInt64) {
        appliedIndex = max(appliedIndex, min(index, handedOutIndex))
        applying.release(upTo: appliedIndex)
    }

    /// The entries that `fetch` asked for: from the range's beginning, without holes. An empty answer means that it
    /// could not be read; it is asked for again later.
    public mutating func fetched(_ entries: [Entry], for fetch: RaftOutput.Fetch) {
        guard !isHalted else { return }
        switch fetch.purpose {
        case .apply: fetchedToApply(entries, for: fetch)
        case .replicate(let to): fetchedToReplicate(entries, for: fetch, to: to)
        }
    }

    /// A message from another server. Stale, misdirected or contradictory messages are dropped.
    public mutating func step(_ message: RaftMessage) {
        guard !isHalted, message.group == group, message.to == id, message.from != id, admits(message) else {
            ignoredInputs += 1
            return
        }
        if message.term > term {
            if isRefusedForLiveLeader(message) { return }
            becomeFollower(term: message.term, leader: message.body.isFromLeader ? message.from : nil)
        } else if message.term < term {
            answerOlderTerm(message)
            return
        } else if message.body.isFromLeader, !followLeader(message.from) {
            ignoredInputs += 1
            return
        }
        switch message.body {
        case .preVote(let lastIndex, let lastTerm, let hasWaited):
            hearLog(lastIndex: lastIndex, lastTerm: lastTerm)
            if isUnproven, keepAsk(message, hasWaited: hasWaited) { break }
            answerPreVote(message, lastIndex: lastIndex, lastTerm: lastTerm)
        case .preVoteReply(let granted):
            if role == .preCandidate { countVote(from: message.from, granted: granted) }
        case .vote(let lastIndex, let lastTerm, let isTransfer):
            hearLog(lastIndex: lastIndex, lastTerm: lastTerm)
            answerVote(message, lastIndex: lastIndex, lastTerm: lastTerm, isTransfer: isTransfer)
        case .voteReply(let granted):
            if role == .candidate { countVote(from: message.from, granted: granted) }
        case .append(let previousIndex, let previousTerm, let commitIndex, let entries):
            receiveAppend(
                from: message.from, previousIndex: previousIndex, previousTerm: previousTerm,
                leaderCommit: commitIndex, entries: entries)
        case .appendAccepted(let matchIndex):
            receiveAccepted(from: message.from, matchIndex: matchIndex)
        case .appendRejected(let previousIndex, let hintIndex, let hintTerm):
            receiveRejected(
                from: message.from, previousIndex: previousIndex, hintIndex: hintIndex, hintTerm: hintTerm)
        case .heartbeat(let commitIndex, let readRound):
            receiveHeartbeat(from: message.from, leaderCommit: commitIndex, readRound: readRound)
        case .heartbeatReply(let readRound, let declines):
            receiveHeartbeatReply(from: message.from, readRound: readRound, declines: declines)
        case .snapshot(let mark):
            receiveSnapshot(from: message.from, mark: mark)
        case .snapshotFailed(let index):
            receiveSnapshotFailed(from: message.from, index: index)
        case .timeoutNow:
            // Thesis §3.10: the election that the old leader asked for need not wait and is not a disruption.
            guard canCampaign, !declinesLeadership else {
                // The leader takes no proposals until it knows.
                sendInPersistedTerm(.heartbeatReply(readRound: 0, declines: true), to: message.from)
                break
            }
            campaign(isTransfer: true)
        case .higherTerm:
            break
        }
    }

    /// Tells the leader at once: an offer that is on its way when this process ends would not be answered.
    private mutating func decline() {
        guard !isHalted, role == .follower, let leader else { return }
        sendInPersistedTerm(.heartbeatReply(readRound: 0, declines: true), to: leader)
    }

    func checkAcceptsProposals() throws(RaftError) {
        guard !isHalted else { throw RaftError(.storageFailed, "a write failed on this replica") }
        guard role == .leader else {
            throw RaftError(.notLeader, "this replica does not lead the group", leader: leader)
        }
        // Thesis §3.10: the old leader stops taking requests, or the target might never catch up.
        guard transferTarget == nil else {
            throw RaftError(.transferring, "leadership is being handed over", leader: transferTarget)
        }
    }

    /// Appends one entry that is not a command. Only a leader does.
    mutating func appendOwn(kind: Entry.Kind, payload: [UInt8]) {
        let entry = Entry(index: log.lastIndex + 1, term: term, kind: kind, payload: payload)
        log.append(entry)
        uncommitted.add(lastIndex: entry.index, bytes: RaftLog.bytes(of: entry))
    }

    /// The commit index never goes back and never passes the end of the log.
    mutating func commit(upTo index: UInt64) {
        let index = min(index, log.lastIndex)
        guard index > commitIndex else { return }
        commitIndex = index
        if role == .leader {
            // From here on the group's log is this one, whatever this server may have forgotten.
            if isEstablished { trustDisk() }
            uncommitted.release(upTo: index)
            confirmReads()
        }
    }
}
