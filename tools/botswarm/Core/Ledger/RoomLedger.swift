import ChatModel

/// The books of one room: what was sent, what the room's stream holds, and what each bot got of it.
///
/// A value without clock or socket. The content of the stream is held once for all bots (seq to fingerprints); per bot
/// there is a ``ViewerBook``. Memory grows with the messages sent, about 150 bytes each, and not with deliveries.
package struct RoomLedger: Sendable {
    /// A kept message of the stream.
    struct Content: Sendable {
        let messageID: Fingerprint
        let body: Fingerprint
        let claim: Claim?
        let time: Timestamp
        /// Whether the reading of the whole history at the end has found it.
        var isInHistory = false
        /// Viewers who got it live.
        var receivedCount = 0
    }

    package let room: RoomID
    package let names: BotNames
    package internal(set) var findings = Findings()
    package internal(set) var viewers: ContiguousArray<ViewerBook> = []

    var viewerIndex: [BotID: Int] = [:]
    /// By viewer, then n - 1.
    var sent: ContiguousArray<ContiguousArray<SentMessage>> = []
    var sentCounts: [SentKind: Int] = [:]
    var contents: [UInt64: Content] = [:]
    /// The seq before the first one that anybody may have seen.
    var base: UInt64?
    var epoch: String?
    /// The highest seq that is known to exist.
    package internal(set) var lastSeq: UInt64 = 0
    /// The last seq in history, and how many seqs up to it have been found.
    var historyEnd: UInt64?
    var inHistoryCount: UInt64 = 0
    var namedBySlow: UInt64 = 0
    var namedByBudget: UInt64 = 0
    var foundAfterGap: UInt64 = 0
    /// The ranges that BUDGET gaps have named. Gaps of a room are the same for all viewers, so these are few.
    var budgetRanges: Set<ClosedRange<UInt64>> = []
    /// The number of viewers to whom a BUDGET gap has named each seq.
    var budgetNamed: [UInt64: Int] = [:]
    var otherUnkept: UInt64 = 0
    var digests: UInt64 = 0
    /// Bots of this room that other workers of the run have; nil in a run of one process.
    package internal(set) var others: OtherBots?
    /// Messages of those, as far as they were seen here or stated by their workers.
    var remote: [Claim: RemoteMessage] = [:]
    /// The notes with which the replay of the stream is compared at the end.
    package internal(set) var notes: ReplayNotes?
    package internal(set) var budget: BudgetRule?
    /// The users that may speak in a muted room.
    package var managers: Set<UserID> = []

    /// - Parameters:
    ///   - others: whom other workers have in this room.
    ///   - replays: whether the stream is replayed at the end; only for a room that is known from its beginning.
    ///   - budget: the viewer budget that holds in this room; nil where it is not known.
    package init(
        room: RoomID, names: BotNames, others: OtherBots? = nil, replays: Bool = false, budget: BudgetRule? = nil
    ) {
        self.room = room
        self.names = names
        self.others = others
        self.budget = budget
        if replays { notes = ReplayNotes() }
    }

    /// A bot of this room, for the other calls.
    package struct Viewer: Hashable, Sendable {
        let index: Int
    }

    /// Adds a bot. Once for each.
    package mutating func add(_ bot: BotID) -> Viewer {
        precondition(viewerIndex[bot] == nil, "a bot is in a room once")
        viewerIndex[bot] = viewers.count
        viewers.append(ViewerBook(bot: bot))
        sent.append([])
        return Viewer(index: viewers.count - 1)
    }

    package func book(of viewer: Viewer) -> ViewerBook { viewers[viewer.index] }

    /// The sentence is an argument, not a closure: it is made from the books before they change.
    mutating func note(_ kind: Finding.Kind, _ text: String) { findings.note(kind, text) }

    func name(_ viewer: Viewer) -> String { "\(names.user(of: viewers[viewer.index].bot)) in \(room)" }

    static func text(_ range: ClosedRange<UInt64>) -> String {
        range.lowerBound == range.upperBound
            ? "seq \(range.lowerBound)" : "seqs \(range.lowerBound)-\(range.upperBound)"
    }
}
