import ChatModel
import RoomCore

/// Catalogue and history of one room, as a host keeps them: enough to restore the room.
struct FakeStore {
    private struct RowID: Hashable {
        var kind: CatalogueKind
        var key: ExactText

        init(kind: CatalogueKind, key: String) { (self.kind, self.key) = (kind, ExactText(key)) }
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

    func restored() -> RoomState {
        guard let record else { return RoomState(absent: room, rows: Array(rows.values)) }
        // By the log's time: what is applied to it afterwards may be much older than now.
        let since = posts.last.map { $0.time.adding(seconds: -Limits.commandMemorySeconds) }
        let recent = posts.filter { post in since.map { post.time >= $0 } ?? true }
        return RoomState(restoring: record, rows: Array(rows.values), recentCommands: recent)
    }
}
