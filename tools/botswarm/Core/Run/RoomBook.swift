import ChatModel
import Synchronization

/// A room with its ledger, shared by the loops whose bots are in it.
final class RoomBook: Sendable {
    let room: RoomID
    /// Which of the run's rooms it is, from 0.
    let number: Int
    let ledger: Mutex<RoomLedger>
    let audit = Mutex(HistoryAudit())
    /// The last answer to how many are in the room.
    let online = Mutex<Int64?>(nil)

    init(room: RoomID, number: Int, ledger: RoomLedger) {
        self.room = room
        self.number = number
        self.ledger = Mutex(ledger)
    }
}
