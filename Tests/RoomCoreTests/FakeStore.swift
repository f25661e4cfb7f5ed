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
    private var rows: [RowID: (change: CatalogueChange, incarnation: Incarnation?)] = [:]
    private var posts: [(command: RecentCommand, incarnation: Incarnation?)] = []

    init(room: RoomID) { self.room = room }

    mutating func perform(_ effects: [Effect], incarnation: Incarnation?) {
        for effect in effects {
            switch effect {
            case .catalogue(let change) where change.kind == .room:
                if case .room(let put)? = change.value { record = put } else { record = nil }
            case .catalogue(let change):
                rows[RowID(kind: change.kind, key: change.key)] =
                    change.value == nil ? nil : (change, incarnation)
            case .append(let message, let key?):
                guard let seq = message.seq else { continue }
                let command = RecentCommand(key: key, seq: seq, time: message.time, priority: message.priority)
                posts.append((command, incarnation))
            case .retire(let retired):
                rows = rows.filter {
                    [.command, .taps, .webhook].contains($0.key.kind) || $0.value.incarnation != retired
                }
                posts.removeAll { $0.incarnation == retired }
            case .roomChanged, .keepCopies, .append, .erase, .amend, .publish, .leaveOut, .held, .denied, .kick,
                .kickAll,
                .robotsEnter, .robotsExit, .result:
                continue
            }
        }
    }

    func restored() -> RoomState {
        let changes = rows.values.map(\.change)
        // By the log's time: what is applied to it afterwards may be much older than now.
        let since = posts.last.map { $0.command.time.adding(seconds: -Limits.commandMemorySeconds) }
        let recent = posts.map(\.command).filter { post in since.map { post.time >= $0 } ?? true }
        guard let record else { return RoomState(absent: room, rows: changes, recentCommands: recent) }
        return RoomState(restoring: record, rows: changes, recentCommands: recent)
    }

    /// The deadlines of the rows: what a host is to wake the room for.
    var deadlines: [Timestamp] { rows.values.compactMap(\.change.deadline).sorted() }

    /// Rows besides the room's own.
    var rowCount: Int { rows.count }
}
