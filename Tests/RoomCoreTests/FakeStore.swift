import ChatModel

@testable import RoomCore

/// Catalogue and history of one room, as a host keeps them: enough to restore the room.
struct FakeStore {
    private struct RowID: Hashable {
        var kind: CatalogueKind
        var key: String
    }

    let room: RoomID
    private var record: RoomRecord?
    private var rows: [RowID: CatalogueChange] = [:]
    private var posts: [RecentCommand] = []

    init(room: RoomID) { self.room = room }

    mutating func perform(_ effects: [Effect], incarnation: Incarnation?) {
        for effect in effects {
            switch effect {
            case .catalogue(let change) where change.kind == .room:
                guard case .room(let put)? = change.value else {
                    record = nil
                    rows = rows.filter { $0.key.kind == .command || $0.key.kind == .webhook }
                    continue
                }
                record = put
            case .catalogue(let change):
                rows[RowID(kind: change.kind, key: change.key)] = change.value == nil ? nil : change
            case .append(let message, let key?):
                guard let seq = message.seq else { continue }
                posts.append(RecentCommand(key: key, seq: seq, time: message.time, priority: message.priority))
            case .retire:
                posts = []
            case .append, .erase, .publish, .kick, .kickAll, .robotsEnter, .robotsExit, .result:
                continue
            }
        }
    }

    func restored(at now: Timestamp) -> RoomState {
        guard let record else { return RoomState(absent: room, rows: Array(rows.values)) }
        let recent = posts.filter { $0.time.adding(seconds: Limits.commandMemorySeconds) > now }
        return RoomState(restoring: record, rows: Array(rows.values), recentCommands: recent)
    }
}

extension RoomState {
    /// What tells two states apart, in words; nil when they will decide alike.
    func difference(from other: RoomState, at now: Timestamp) -> String? {
        if room != other.room { return "room" }
        if record != other.record {
            return "record: \(String(describing: record)), \(String(describing: other.record))"
        }
        if members.records != other.members.records { return "members" }
        if members.fixed.elements != other.members.fixed.elements { return "fixed" }
        if members.managers.elements != other.members.managers.elements { return "managers" }
        if members.muted.elements != other.members.muted.elements { return "muted" }
        if members.blacklisted.elements != other.members.blacklisted.elements { return "blacklisted" }
        if members.deadlines.elements != other.members.deadlines.elements { return "deadlines" }
        if members.managerCount != other.members.managerCount { return "managerCount" }
        if queue.held != other.queue.held { return "queue" }
        if queue.order.elements != other.queue.order.elements { return "order" }
        if queue.nextPosition != other.queue.nextPosition { return "nextPosition" }
        if queue.transientElements != other.queue.transientElements { return "transient elements" }
        if transientOwners != other.transientOwners { return "transient owners" }
        if robots != other.robots { return "robots" }
        if owed != other.owed { return "owed" }
        if slow.times != other.slow.times { return "slow" }
        if ledger.results != other.ledger.results { return "results" }
        if ledger.livePosts(at: now) != other.ledger.livePosts(at: now) { return "posts" }
        return nil
    }
}

extension CommandLedger {
    func livePosts(at now: Timestamp) -> [CommandKey: Post] {
        var live: [CommandKey: Post] = [:]
        for minute in minutes {
            for (key, post) in minute.posts.entries where !Self.isForgotten(post.time, at: now) { live[key] = post }
        }
        return live
    }
}
