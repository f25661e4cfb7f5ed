import ChatModel
import RoomCore
import RoomProtocol

/// A replica's knowledge of the sessions on its leader's node, with which it goes on where it leads next and that node is
/// gone. Pure: times are passed in.
struct PresenceReplica {
    /// Sessions that it knows at most. The next leader does not know those that come beyond until somebody announces them:
    /// it is as if there were no replica.
    static let sessionsMax = 100_000

    private var rooms: [RoomID: [SessionID: Visitor]] = [:]
    private(set) var count = 0
    /// The leader that says so; nil: none has.
    private var leader: (node: NodeID, term: UInt64)?
    /// The leader is not heard any more, or another one leads: what it said is worth nothing from then on.
    private var end: Timestamp?

    mutating func take(_ update: PresenceUpdate) {
        if update.isFirst, update.term >= leader?.term ?? 0 {
            self = PresenceReplica()
            leader = (update.node, update.term)
        }
        // Later ones without the first would be changes of something else.
        guard let leader, leader.term == update.term, leader.node == update.node else { return }
        for change in update.changes { take(change) }
    }

    private mutating func take(_ it: PresenceUpdate.Change) {
        switch it.change {
        case .here(let visitor):
            let isNew = rooms[it.room]?[visitor.key.session] == nil
            guard !isNew || count < Self.sessionsMax else { return }
            rooms[it.room, default: [:]][visitor.key.session] = visitor
            if isNew { count += 1 }
        case .gone(let session):
            guard rooms[it.room]?.removeValue(forKey: session) != nil else { return }
            count -= 1
            if rooms[it.room]?.isEmpty == true { rooms[it.room] = nil }
        case .emptied:
            count -= rooms.removeValue(forKey: it.room)?.count ?? 0
        }
    }

    /// Somebody leads in that term.
    /// - Parameter seconds: for which the former leader's word holds: a grace.
    mutating func onLeader(term: UInt64, at now: Timestamp, seconds: Int64) {
        guard let leader, leader.term < term, end == nil else { return }
        end = now.adding(seconds: seconds)
    }

    /// The same, of a node that is not reached any more.
    mutating func onNodeLost(_ node: NodeID, at now: Timestamp, seconds: Int64) {
        guard leader?.node == node, end == nil else { return }
        end = now.adding(seconds: seconds)
    }

    /// To be called once a second.
    mutating func forgetOutdated(at now: Timestamp) {
        if let end, end <= now { self = PresenceReplica() }
    }

    /// This replica leads now: takes everything, without order.
    mutating func takeAll(at now: Timestamp) -> [RoomID: [Visitor]] {
        forgetOutdated(at: now)
        defer { self = PresenceReplica() }
        return rooms.mapValues { Array($0.values) }
    }
}
