import ChatModel
import History
import RoomCore
import Wire

/// For how long the room's messages are visible, and kept (PROTOCOL.md, "History").
extension RoomActor {
    /// Messages of before have expired.
    var visibleSince: Timestamp { visibleSince(context.now()) }

    func visibleSince(_ now: Timestamp) -> Timestamp {
        state.visibleSince(now, standardDays: context.policy.retentionDays) ?? context.policy.keptSince(now)
    }

    /// The files that messages of the day are in.
    func life(on day: Int64) -> HistoryLife { inPlace(&state) { $0.life(on: day) } }

    /// Content is kept for as long as the files of messages that name it now: the room's life may be raised as far.
    var contentKeptSince: Timestamp {
        let now = context.now()
        let days = life(on: now.day).days ?? context.policy.retentionDays
        return now.adding(milliseconds: -days * Timestamp.millisecondsPerDay)
    }
}

extension RoomHost {
    /// From when on a room shows messages, by its row or by that of a deleted room that can be restored.
    /// - Parameter standardDays: of rooms without a life of their own.
    public static func visibleSince(standardDays: Int64) -> @Sendable (CatalogueRow, Timestamp) -> Timestamp? {
        { row, now in
            guard let bytes = row.value, let kind = CatalogueKind(rawValue: row.kind) else { return nil }
            return switch try? CatalogueCodec.decode(kind: kind, bytes) {
            case .room(let record): record.visibleSince(now, standardDays: standardDays)
            case .deletedRoom(let deleted): deleted.room.visibleSince(now, standardDays: standardDays)
            default: nil
            }
        }
    }
}
