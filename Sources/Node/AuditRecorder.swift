import ChatModel
import History
import Synchronization
import Wire

/// Records the changing calls of the server API.
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

    private let file: AuditFile
    private let state = Mutex(State())

    init(file: AuditFile) { self.file = file }

    func record(_ item: AuditItem) {
        state.withLock { state in
            if item.administrator == nil {
                let second = item.time.milliseconds / 1000
                if second != state.second { (state.second, state.strangers) = (second, 0) }
                state.strangers += 1
                guard state.strangers <= Self.strangersPerSecondMax else { return state.unrecorded += 1 }
            }
            var item = item
            item.unrecorded = state.unrecorded
            if file.append(WireProtobuf.encode(item), time: item.time) {
                state.unrecorded = 0
            } else {
                state.unrecorded += 1
            }
        }
    }

    func page(before: Int64?, limit: Int) async throws(ChatError) -> [AuditItem] {
        guard case .success(let rows) = await file.page(before: before, limit: limit) else {
            throw ChatError(.internal, "the audit can't be read")
        }
        var items: [AuditItem] = []
        for row in rows {
            var item = try WireProtobuf.decode(AuditItem.self, from: row.payload, limits: false)
            item.id = row.id
            items.append(item)
        }
        return items
    }
}
