import ChatModel

/// Who was put out of a room lately, by the latest time: for ten minutes, as long as the room is in memory, and at most
/// `countMax` users, beyond which the oldest are forgotten. A gateway that can't be reached for longer says too late that
/// they are here.
struct Kicks {
    static let countMax = 4_096

    /// When everybody was put out, at last.
    private(set) var everybody: Timestamp?
    private var times: [UserID: Timestamp] = [:]
    /// In the order in which they were noted; what `times` says otherwise of is out of date.
    private var order = Fifo<(user: UserID, time: Timestamp)>()

    /// - Parameter user: nil for everybody.
    mutating func note(_ user: UserID?, at time: Timestamp) {
        guard let user else { return everybody = time }
        guard times[user] != time else { return }
        times[user] = time
        order.append((user, time))
        let oldest = time.adding(seconds: -Limits.commandMemorySeconds)
        while let first = order.first, first.time < oldest || order.count > Self.countMax {
            if times[first.user] == first.time { times[first.user] = nil }
            order.removeFirst()
        }
    }

    func contains(_ user: UserID, since time: Timestamp) -> Bool { times[user].map { $0 >= time } ?? false }
}
