import ChatModel
import RoomCore

/// A leader's word to the other replicas of its shard about the sessions that it holds itself, as a gateway, and those of
/// nodes that it can't reach. Should its node die, nobody would be left to announce them to the next leader, and they
/// would vanish from their rooms without a word. Sessions on other nodes are announced by these.
///
/// Within one connection between nodes nothing of it gets lost.
public struct PresenceUpdate: Sendable, Hashable {
    public struct Change: Sendable, Hashable {
        public var room: RoomID
        public var change: PresenceChange

        public init(room: RoomID, _ change: PresenceChange) { (self.room, self.change) = (room, change) }
    }

    public var shard: ShardID
    /// The leader's term.
    public var term: UInt64
    /// The leader, which holds the sessions that are named at no other node.
    public var node: NodeID
    /// The replica forgets what it knew before.
    public var isFirst: Bool
    /// The other way round: a replica asks the leader of that term to begin. `node` is the replica.
    public var asksToBegin = false
    /// In order; at most ``changesMax``.
    public var changes: [Change]

    /// Some 2 MB of the greatest sessions, and 40 KB of usual ones.
    public static let changesMax = 256

    public init(shard: ShardID, term: UInt64, node: NodeID, isFirst: Bool = false, changes: [Change] = []) {
        (self.shard, self.term, self.node, self.isFirst) = (shard, term, node, isFirst)
        self.changes = changes
    }

    /// A replica's question to the leader that it hears.
    public static func question(of replica: NodeID, shard: ShardID, term: UInt64) -> PresenceUpdate {
        var question = PresenceUpdate(shard: shard, term: term, node: replica)
        question.asksToBegin = true
        return question
    }
}
