import ChatModel
import RoomProtocol

/// A room's history as far as it is in memory, and the changes of it while storage was being read.
struct RecentHistory {
    /// The newest kept messages.
    var tail = HotTail()
    /// A read of the messages before the tail.
    var older = OlderMessages()
    /// The messages that were recalled last.
    private(set) var erased = RecentSeqs()
    /// The messages that were amended last.
    private(set) var amended = RecentSeqs()

    /// - Parameter lastSeq: the room's.
    mutating func erase(_ seq: UInt64, of lastSeq: UInt64) {
        tail.erase(seq: seq)
        older.noteErased(seq, of: lastSeq)
        erased.note(seq)
    }

    /// - Parameter lastSeq: the room's.
    mutating func amend(_ message: Message, _ seq: UInt64, of lastSeq: UInt64) {
        tail.amend(message)
        older.noteAmended(message, of: lastSeq)
        amended.note(seq)
    }
}
