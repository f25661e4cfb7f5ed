import ChatModel
import RoomCore

/// Sessions whose exit a leader of this loop has told because their gateway was not heard for the grace. One that stood
/// still for longer says afterwards that they are here: that is told as an enter, since everybody has seen them leave.
/// Kept beside the rooms, which leave memory when nobody is in them.
struct DepartedSessions {
    private struct Key: Hashable {
        var room: RoomID
        var session: PresenceKey
    }

    /// Beyond that the oldest are forgotten: they would come back without a word.
    static let countMax = 65_536
    /// Nor is anybody remembered for longer than that.
    static let milliseconds: Int64 = 3_600_000

    private var times: [Key: Timestamp] = [:]
    /// Oldest first; some may have been forgotten since.
    private var order = Fifo<(key: Key, time: Timestamp)>()

    var count: Int { times.count }

    mutating func add(_ session: PresenceKey, of room: RoomID, at now: Timestamp) {
        let key = Key(room: room, session: session)
        times[key] = now
        order.append((key, now))
        while let oldest = order.first {
            guard order.count > Self.countMax || now.milliseconds - oldest.time.milliseconds > Self.milliseconds
            else { break }
            if times[oldest.key] == oldest.time { times[oldest.key] = nil }
            order.removeFirst()
        }
    }

    /// The session is here again.
    /// - Returns: when its exit was told; nil when that is not known.
    mutating func remove(_ session: PresenceKey, of room: RoomID) -> Timestamp? {
        times.isEmpty ? nil : times.removeValue(forKey: Key(room: room, session: session))
    }
}
