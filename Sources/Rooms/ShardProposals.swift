import ChatModel
import Consensus
import GroupDriver
import History
import Wire

/// The commands of one shard on their way through its log: staged until the end of the turn, then in one proposal,
/// until they are committed.
struct ShardProposals {
    /// Proposals that the log does not take, and why.
    struct Refused: Error {
        var proposals: [ProposedCommand]
        var error: ChatError
        /// Whether gateways are to ask again, under the same number, where the leader is.
        var isInDoubt = false
    }

    private let shard: ShardID
    private var staged: [ProposedCommand] = []
    /// Proposals that are not committed yet, oldest first.
    private var pending = PendingProposals()
    /// Parts of the commands that were read from the log.
    private var known = KnownCommandParts()
    /// The time of the newest command; no later one gets an earlier time.
    private var lastStamp = Timestamp(0)

    init(shard: ShardID) { self.shard = shard }

    /// Commands that no proposal has taken yet.
    var stagedCount: Int { staged.count }

    /// Commands that are not committed yet.
    var count: Int { staged.count + pending.count }

    /// Rooms with commands that are not committed yet. Looks at all of these.
    var rooms: Set<RoomID> { pending.rooms.union(staged.lazy.map(\.content.command.room)) }

    /// No later command is stamped with an earlier time.
    mutating func raiseStamp(to time: Timestamp) { lastStamp = max(lastStamp, time) }

    // MARK: - Before they are committed

    mutating func stage(_ proposal: ProposedCommand) { staged.append(proposal) }

    /// While storage takes no rows.
    static let tooSlow = ChatError(.unavailable, "the disk can't keep up", retryAfterMs: 1000)

    /// One proposal for everything that is staged.
    /// - Returns: the entry of the last command.
    mutating func propose(to log: GroupLog, _ health: StorageHealth, at now: Timestamp) throws(Refused) -> UInt64 {
        let proposals = takeStaged()
        guard health.takesRows else { throw Refused(proposals: proposals, error: Self.tooSlow) }
        let time = max(now, lastStamp)
        do throws(RaftError) {
            let range = try log.propose(proposals.map { LogCodec.encode($0.content.command, time: time) })
            lastStamp = time
            pending.append(proposals, from: range.lowerBound, time: time)
            return range.upperBound
        } catch {
            let isElsewhere = (error.code == .notLeader || error.code == .transferring) && !log.isSoleVoter
            throw Refused(
                proposals: proposals,
                error: ChatError(.unavailable, "the room's log takes nothing now", retryAfterMs: 500),
                isInDoubt: isElsewhere)
        }
    }

    /// Takes out what the cluster's feature level does not bring yet.
    mutating func takeUpgrading(at level: FeatureLevel) -> [(ProposedCommand, Feature)] {
        var taken: [(ProposedCommand, Feature)] = []
        staged.removeAll { proposal in
            guard let feature = proposal.content.command.feature, !level.brings(feature) else { return false }
            taken.append((proposal, feature))
            return true
        }
        return taken
    }

    mutating func takeStaged() -> [ProposedCommand] {
        defer { staged = [] }
        return staged
    }

    mutating func takePending() -> [ProposedCommand] { pending.takeAll() }

    // MARK: - When they are committed

    /// A committed command and its stamp's time: as it was proposed here, or as the log has it.
    /// - Throws: `corrupt` for a command that this version can't read: skipping it would make replicas differ.
    mutating func proposal(of entry: Entry) throws(WireError) -> (ProposedCommand, Timestamp) {
        if let mine = pending.peek(entry.index) { return mine }
        let (command, time) = try LogCodec.decode(entry.payload, known: &known)
        return (ProposedCommand(Proposal(command: command, key: command.id.map(commandKey), origin: .room)), time)
    }

    /// Its turn to be applied has come.
    mutating func drop(_ index: UInt64, stampedAt time: Timestamp) {
        pending.drop(index)
        lastStamp = max(lastStamp, time)
    }
}
