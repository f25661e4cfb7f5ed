import ChatModel

/// Users that were put out of a room lately, by the latest time, and why: for ten minutes, as long as the room is in
/// memory, and at most `countMax` users, beyond which the oldest are forgotten. A gateway that can't be reached for
/// longer says too late that they are here. The room's row has the latest of them (`RoomRecord.kicks`), without `ext`.
struct Kicks {
    static let countMax = 4_096
    /// So many of the latest have their `ext`, of at most 2 KB; earlier ones are told the reason alone.
    static let extsMax = 256

    private struct Entry {
        var time: Timestamp
        var cause: PutOut
    }

    private var entries: [UserID: Entry] = [:]
    /// In the order in which they were noted; what `entries` says otherwise of is out of date.
    private var order = Fifo<(user: UserID, time: Timestamp)>()
    private var withExt = Fifo<(user: UserID, time: Timestamp)>()

    mutating func note(_ user: UserID, at time: Timestamp, _ cause: PutOut) {
        guard entries[user]?.time != time else { return }
        entries[user] = Entry(time: time, cause: cause)
        order.append((user, time))
        if cause.ext != nil {
            withExt.append((user, time))
            while withExt.count > Self.extsMax, let first = withExt.first {
                if entries[first.user]?.time == first.time { entries[first.user]?.cause.ext = nil }
                withExt.removeFirst()
            }
        }
        let oldest = time.adding(seconds: -Limits.commandMemorySeconds)
        while let first = order.first, first.time < oldest || order.count > Self.countMax {
            if entries[first.user]?.time == first.time { entries[first.user] = nil }
            order.removeFirst()
        }
    }

    /// nil for whoever was not put out at that time or later.
    func cause(of user: UserID, since time: Timestamp) -> PutOut? {
        entries[user].flatMap { $0.time >= time ? $0.cause : nil }
    }
}

/// Why somebody was put out of a room, and the `notifyExt` of that.
package struct PutOut: Sendable, Equatable {
    package var reason: KickReason
    package var ext: String?

    package init(_ reason: KickReason, ext: String? = nil) {
        self.reason = reason
        self.ext = ext
    }
}
