import BotSwarmCore
import ChatModel
import Testing

/// A room whose stream is replayed: notifications beside messages.
struct ReplayFixture {
    var room: LedgerFixture
    var seq: UInt64 = 0
    var history: [KeptSighting] = []

    init(viewers: Int = 2) throws { room = try LedgerFixture(viewers: viewers, replays: true) }

    func user(_ index: Int) -> UserID { room.ledger.names.user(of: BotID(index)) }

    /// The next of the stream; every viewer who is here gets it.
    @discardableResult
    mutating func notify(_ event: RoomEvent, time: Int64 = 0) -> UInt64 {
        seq += 1
        publish(
            KeptSighting(
                seq: seq, messageID: Fingerprint("m\(seq)"), body: Fingerprint(kind: "event", 1),
                origin: .notification(event), time: Timestamp(time)))
        return seq
    }

    /// A message of a bot.
    mutating func say(by index: Int, time: Int64 = 0) {
        seq += 1
        let n = room.send(.kept, by: index)
        let plain = room.kept(n, seq, by: index)
        publish(
            KeptSighting(
                seq: seq, messageID: plain.messageID, body: plain.body, origin: plain.origin, time: Timestamp(time)))
        room.ack(n, seq, by: index)
    }

    private mutating func publish(_ sighting: KeptSighting) {
        history.append(sighting)
        for index in room.viewers.indices where room.ledger.book(of: room.viewers[index]).stay == .here {
            room.receive(sighting, index)
        }
    }

    func element(_ key: String, _ value: String, of index: Int, version: Int64 = 1, transient: Bool = false)
        -> QueueElement
    {
        var element = QueueElement(key: key, value: value, owner: user(index))
        element.version = version
        element.transient = transient
        return element
    }

    /// A change of the queue that a bot asks for and is answered.
    mutating func set(_ element: QueueElement, by index: Int, change: QueueChange) {
        room.ledger.seatWrite(room.viewers[index], key: element.key, value: element.value)
        notify(.queueChanged(change, element))
        room.ledger.seatAnswered(value: element.value, .acked(element))
    }

    mutating func close() -> [Finding.Kind: Int] { room.close(history: history, end: seq) }
}
