import ChatModel
import RoomCore
import RoomProtocol

/// A session that a new leader has from the former one, at whose node it was, or which could not reach its node.
struct InheritedSession {
    var visitor: Visitor
    /// Its node was lost since the former leader said so: nobody there has said meanwhile that the session has left.
    var isLost: Bool
}

/// A replica's knowledge of the sessions on its leader's node, with which it goes on where it leads next and that node is
/// gone. Pure: times are passed in.
struct PresenceReplica {
    /// Sessions of one leader that it knows at most. The next leader does not know those that come beyond until somebody
    /// announces them: it is as if there were no replica.
    static let sessionsMax = 100_000

    /// A leader's word.
    fileprivate struct Word {
        var node: NodeID
        var term: UInt64
        var rooms: [RoomID: [SessionID: Visitor]] = [:]
        var count = 0
        /// The leader is not heard any more, or another one leads: its word is worth nothing from then on.
        var end: Timestamp?
        var isLost = false
    }

    private var current: Word?
    /// That of the leader before: the present one knows what became of its sessions, and may die within their grace.
    private var former: Word?
    /// A leader that has not told this replica to begin, and for how many seconds it has been heard.
    private var untold: (node: NodeID, term: UInt64, seconds: Int)?

    /// How long a leader is given to begin by itself, and between two questions.
    static let patienceSeconds = 3

    var count: Int { (current?.count ?? 0) + (former?.count ?? 0) }

    /// - Parameter seconds: for which a former leader's word holds: a grace.
    mutating func take(_ update: PresenceUpdate, at now: Timestamp, seconds: Int64) {
        if update.isFirst, current.map({ update.term >= $0.term || $0.end != nil }) ?? true {
            begin(update, at: now, seconds: seconds)
        }
        // Later ones without the first would be changes of something else.
        guard current?.term == update.term, current?.node == update.node else { return }
        for change in update.changes { current?.take(change) }
    }

    private mutating func begin(_ update: PresenceUpdate, at now: Timestamp, seconds: Int64) {
        if var last = current, last.node != update.node {
            last.end = last.end ?? now.adding(seconds: seconds)
            former = last
        }
        current = Word(node: update.node, term: update.term)
    }

    /// That node leads in that term. A word of another one, be its term higher, ends.
    mutating func onLeader(_ node: NodeID, term: UInt64, at now: Timestamp, seconds: Int64) {
        guard let current else { return }
        if current.node == node, current.term == term {
            if !current.isLost { self.current?.end = nil }
        } else if current.end == nil {
            self.current?.end = now.adding(seconds: seconds)
        }
    }

    /// The node is not reached any more.
    mutating func onNodeLost(_ node: NodeID, at now: Timestamp, seconds: Int64) {
        let end = now.adding(seconds: seconds)
        current?.onLost(node, end)
        former?.onLost(node, end)
    }

    /// Whether the leader that is heard is to be asked to begin: its word was lost where this node was starting, and
    /// everything that it says later is worth nothing without. The host calls this once a second.
    mutating func mustAsk(_ node: NodeID, term: UInt64) -> Bool {
        guard current?.node != node || current?.term != term else {
            untold = nil
            return false
        }
        let former = untold.flatMap { $0.node == node && $0.term == term ? $0.seconds : nil }
        let seconds = former.map { $0 + 1 } ?? 0
        untold = (node, term, seconds)
        return seconds > 0 && seconds % Self.patienceSeconds == 0
    }

    /// The host calls this once a second.
    mutating func forgetOutdated(at now: Timestamp) {
        if let end = current?.end, end <= now { current = nil }
        if let end = former?.end, end <= now { former = nil }
    }

    /// This replica leads now: takes everything. The newer leader's word comes last in each room.
    mutating func takeAll(at now: Timestamp) -> [RoomID: [InheritedSession]] {
        forgetOutdated(at: now)
        defer { (current, former) = (nil, nil) }
        var all: [RoomID: [InheritedSession]] = [:]
        for word in [former, current].compactMap(\.self) {
            for (room, sessions) in word.rooms {
                // The leader could not reach the other nodes' sessions that it told of.
                all[room, default: []] += sessions.values.map {
                    InheritedSession(visitor: $0, isLost: word.isLost || $0.key.node != word.node)
                }
            }
        }
        return all
    }
}

extension PresenceReplica.Word {
    fileprivate mutating func take(_ it: PresenceUpdate.Change) {
        switch it.change {
        case .here(let visitor):
            let isNew = rooms[it.room]?[visitor.key.session] == nil
            guard !isNew || count < PresenceReplica.sessionsMax else { return }
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

    fileprivate mutating func onLost(_ node: NodeID, _ end: Timestamp) {
        guard node == self.node else { return }
        isLost = true
        self.end = self.end ?? end
    }
}
