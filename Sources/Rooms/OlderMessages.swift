import ChatModel
import RoomProtocol

/// The messages that a room's storage may have in front of its tail: after a snapshot, history is back-filled behind a
/// room that is in memory already.
struct OlderMessages {
    /// Enters that wait for the read; nil while nothing is read. They are no more than the room admits in that time.
    var waiting: [Arrival]?
    /// Messages that were recalled while storage was being read.
    var erased: Set<UInt64> = []
    /// Messages that were amended meanwhile, as they are now.
    var amended: [UInt64: Message] = [:]
    /// How many messages had been recalled when the read began (`RecentHistory.erased`).
    var erasuresBefore: UInt64 = 0
    /// When it was read last.
    var readAt: Timestamp?

    /// The wait before the next read, for all who ask: a room whose history has expired is read once in a while, and not
    /// for each viewer.
    static let pauseSeconds: Int64 = 10

    /// Only messages that may be among those that are being read.
    mutating func noteErased(_ seq: UInt64, of lastSeq: UInt64) {
        guard waiting != nil, seq + UInt64(HotTail.messagesMax) > lastSeq else { return }
        erased.insert(seq)
    }

    /// The same of an amended message.
    mutating func noteAmended(_ message: Message, of lastSeq: UInt64) {
        guard waiting != nil, let seq = message.seq, seq + UInt64(HotTail.messagesMax) > lastSeq else { return }
        amended[seq] = message
    }

    func mayRead(at now: Timestamp) -> Bool {
        readAt.map { $0.adding(seconds: Self.pauseSeconds) <= now || now < $0 } ?? true
    }
}
