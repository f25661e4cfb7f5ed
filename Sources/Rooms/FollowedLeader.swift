import ChatModel
import RoomProtocol

/// The last leader that a shard's replica has followed, and has not replaced itself; and for how long it has been silent.
///
/// It is suspected as soon as the replica does not hear it. A replica that the group has gone on without hears nobody for
/// ever; whether the leader lives is then for the link to say, so a suspicion ends after a while.
struct FollowedLeader {
    /// A leader, and what it leads.
    typealias Leader = (node: NodeID, notice: ShardNotice)

    private var leader: Leader?
    /// nil while it is not silent.
    private var secondsDoubted: Int?

    /// More than a link to a dead node lasts.
    static let suspicionSeconds = 10

    /// The replica hears it.
    mutating func follow(_ node: NodeID, _ notice: ShardNotice) {
        leader = (node, notice)
        secondsDoubted = nil
    }

    /// The replica leads itself.
    mutating func forget() {
        leader = nil
        secondsDoubted = nil
    }

    /// The replica hears nobody. Returns the leader that it suspects because of that, if it did not before.
    mutating func suspect() -> Leader? {
        guard let leader, secondsDoubted == nil else { return nil }
        secondsDoubted = 0
        return leader
    }

    /// Once a second. Returns the leader that it suspects no more.
    mutating func tick() -> Leader? {
        guard let leader, let seconds = secondsDoubted else { return nil }
        secondsDoubted = seconds + 1
        guard seconds >= Self.suspicionSeconds else { return nil }
        forget()
        return leader
    }
}
