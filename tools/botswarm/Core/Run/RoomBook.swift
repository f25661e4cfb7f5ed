import ChatModel
import Synchronization

/// A room with its ledger, shared by the loops whose bots are in it.
final class RoomBook: Sendable {
    let room: RoomID
    let ledger: Mutex<RoomLedger>
    let audit = Mutex(HistoryAudit())

    init(room: RoomID, names: BotNames) {
        self.room = room
        ledger = Mutex(RoomLedger(room: room, names: names))
    }
}
