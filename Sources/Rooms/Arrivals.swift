import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// An enter that is answered at the end of a turn, so that its `seq` is that of the stream.
struct Arrival: Sendable {
    var call: SessionOrigin
    var key: PresenceKey
    var request: EnterRequest
    /// The missed messages, as far as they had to be read from storage; nil when the tail can tell.
    var stored: Missed?
}

/// The messages that a client missed.
struct Missed: Sendable {
    var recovered: Bool
    var messages: [Message] = []
    var more = false
}

/// Enters that wait for their answers, in order. In a storm there are thousands, and a turn answers a share of them: so
/// nothing here goes through all of them.
struct Arrivals {
    private var queue = Fifo<Arrival>()
    /// How many there are of each session.
    private var counts: [PresenceKey: Int] = [:]
    /// The number of these for which nobody waits any more.
    private var forgotten: [PresenceKey: Int] = [:]
    /// The encodings of those who have come since there was none.
    private(set) var encodings: ClientEncodings = []

    var isEmpty: Bool { queue.count == 0 }

    func contains(_ key: PresenceKey) -> Bool { counts[key] != nil }

    mutating func append(_ arrival: Arrival) {
        queue.append(arrival)
        counts[arrival.key, default: 0] += 1
        encodings.insert(ClientEncodings(arrival.call.address.encoding))
    }

    /// The oldest that somebody waits for.
    mutating func popFirst() -> Arrival? {
        while let arrival = queue.first {
            queue.removeFirst()
            if isEmpty { encodings = [] }
            let key = arrival.key
            if let count = forgotten[key] {
                forgotten[key] = count > 1 ? count - 1 : nil
                continue
            }
            counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil }
            return arrival
        }
        return nil
    }

    /// Nobody waits any more for the answers of this session.
    mutating func forget(_ key: PresenceKey) {
        guard let count = counts.removeValue(forKey: key) else { return }
        forgotten[key, default: 0] += count
    }
}
