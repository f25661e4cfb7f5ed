import ChatModel
import Consensus
import RoomCore
import RoomLink
import RoomStream

/// A room as its leader has it in memory, beside what is durable: presence, the stream to the lanes, the newest
/// messages. All three are the real ones.
struct SimulatedRoom {
    var presence: Presence
    var stream = TurnStream()
    var tail = HotTail()
    /// Enters that are answered at the end of the turn.
    var arrivals: [RoomCall] = []
    /// Sessions whose node can't be reached, and when their grace ends.
    var unreachable: [PresenceKey: Timestamp] = [:]

    init(policy: RoomPolicy, history: [Message]) {
        presence = Presence(policy: policy)
        for message in history.suffix(Self.restoredMax) { tail.append(message) }
    }

    /// Few, so that some viewers lack more than the tail has.
    private static let restoredMax = 6
}

/// What a shard's host knows while its replica leads; as `Rooms.ShardHost` has it.
struct SimulatedLeadership {
    /// The term in which all have been told that this replica leads.
    var term: UInt64?
    /// What was committed when this leader was established.
    var formerIndex: UInt64?
    var room: SimulatedRoom?
    /// Calls that came before everything of former leaders was applied.
    var early: [RoomCall] = []
    /// Questions that wait for the word of a majority, and what came behind them.
    var unconfirmed: [RoomCall] = []
    var confirming: [RoomCall] = []
    var nextToken: UInt64 = 0
    /// By index: who waits for the outcome.
    var pending: [UInt64: (call: RoomCall, term: UInt64, proposal: Int)] = [:]
    /// Confirmed, but what was committed is not all applied.
    var reads: [RaftOutput.ReadState] = []
    /// The last leader that this replica has followed, and whether it is silent.
    var followed: (leader: Int, term: UInt64, isDoubted: Bool)?
}
