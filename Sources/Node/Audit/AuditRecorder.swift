import ChatModel
import History
import ServerAPI
import Synchronization
import Wire

/// Records the changing calls of the server API, and tells what is recorded here.
///
/// Nobody waits for it. Unauthorized callers could fill the record: at most `strangersPerSecondMax` of such calls a
/// second are recorded one by one, and the next item says how many were not.
final class AuditRecorder: Sendable {
    private struct State {
        var second: Int64 = 0
        var strangers = 0
        var unrecorded: Int64 = 0
    }

    static let strangersPerSecondMax = 10

    private let node: NodeID
    private let file: AuditFile
    private let state = Mutex(State())

    init(node: NodeID, file: AuditFile) {
        self.node = node
        self.file = file
    }

    func record(_ item: AuditItem) {
        state.withLock { state in
            if item.administrator == nil {
                let second = item.time.milliseconds / 1000
                if second != state.second { (state.second, state.strangers) = (second, 0) }
                state.strangers += 1
                guard state.strangers <= Self.strangersPerSecondMax else { return state.unrecorded += 1 }
            }
            var item = item
            (item.node, item.unrecorded) = (node, state.unrecorded)
            let row = AuditFile.Appended(
                time: item.time, subject: item.subject, payload: WireProtobuf.encode(item))
            if file.append(row) {
                state.unrecorded = 0
            } else {
                state.unrecorded += 1
            }
        }
    }

    /// Calls of this node and of those whose copies are here, newest first.
    func page(_ query: AuditQuery) async throws(ChatError) -> [AuditItem] {
        guard case .success(let rows) = await file.page(query) else {
            throw ChatError(.internal, "the audit can't be read")
        }
        var items: [AuditItem] = []
        // A row that nobody can read keeps nobody from the others.
        for row in rows { items.append((try? AuditItem(row)) ?? AuditItem(unreadable: row)) }
        return items
    }

    /// Takes copies of one node's calls: from itself while it is listed, else from whoever has them.
    func keep(_ items: [AuditItem], listed: [NodeRecord]) async throws(ChatError) {
        // A node that is given its own record back has lost it, and has sent nothing.
        let sender = listed.first { $0.node == items.first?.node && $0.node != node }
        let rows = items.compactMap { item in
            item.place.map { AuditRow(place: $0, subject: item.subject, payload: WireProtobuf.encode(item)) }
        }
        guard case .success = await file.keep(rows, from: sender?.store) else {
            throw ChatError(.unavailable, "the audit can't be written", retryAfterMs: 5_000)
        }
    }

    /// The subject of a row of an earlier version.
    @Sendable static func formerSubject(_ payload: [UInt8]) -> AuditRow.Subject {
        guard var item = try? WireProtobuf.decode(AuditItem.self, from: payload, limits: false) else {
            return AuditRow.Subject(.ordinary, actor: nil, room: nil, action: nil)
        }
        (item.action, item.room) = AuditedCall.subject(method: item.method, path: item.path)
        return item.subject
    }
}

extension AuditItem {
    init(_ row: AuditRow) throws(ChatError) {
        self = try WireProtobuf.decode(AuditItem.self, from: row.payload, limits: false)
        (id, node) = (row.place.id, row.place.node)
        (action, room) = (row.subject.action, row.subject.room)
    }

    fileprivate init(unreadable row: AuditRow) {
        self.init(
            time: row.place.time, administrator: row.subject.actor, address: "", method: "?", path: "?", status: 0)
        (id, node) = (row.place.id, row.place.node)
    }

    fileprivate var subject: AuditRow.Subject {
        let kind: AuditRow.Kind =
            if administrator == nil { .stranger } else { AuditedCall.isFrequent(action) ? .frequent : .ordinary }
        return AuditRow.Subject(kind, actor: administrator, room: room, action: action)
    }
}
