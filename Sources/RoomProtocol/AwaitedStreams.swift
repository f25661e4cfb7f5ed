import ChatModel

/// Rooms of which a lane has told the leader what its viewers have been shown (`follow`), and whose stream has not
/// begun to go on from there. Output of such a room before it goes on is not shown: it may be of the time before, when
/// the leader thought that the lane had all it was told, and what goes on includes it. Pure: times are passed in.
///
/// A leader that does not go on in time is told once more, and again after longer and longer pauses. It has the more
/// time the more sessions it has just been told of, and as long as it goes on with other rooms of the shard: telling it
/// all again would be the more to do for a leader that has too much to do.
public struct AwaitedStreams: Sendable {
    /// How long a leader may take to go on, in milliseconds; then twice as long each time, up to `pauseMax`. A room
    /// that is still being loaded takes a while.
    public static let pauseFirst: UInt64 = 2_000
    public static let pauseMax: UInt64 = 16_000
    /// So many sessions a leader takes in a millisecond at least, with those of other lanes at the same time.
    public static let sessionsPerMillisecond: UInt64 = 10

    private struct Wait {
        var number: UInt64
        /// Since the lane has taken something of the room last, this was said first.
        var first: UInt64
        var askAgainAt: UInt64
        var asks: UInt64
        /// It did not go on in time; told anew before that, a leader has the same time again.
        var isOverdue = false
        var sessions: UInt64
        var shard: ShardID?
        /// However much else the leader goes on with.
        var deadline: UInt64
    }

    private var waits: [RoomID: Wait] = [:]
    private var last: UInt64 = 0
    /// None is due before; may be too early.
    private var nextLook = UInt64.max
    /// The sum over all rooms that are awaited.
    private var sessionsTold: UInt64 = 0
    /// Shards of which some room has gone on since the last look, and when that was seen of each last.
    private var progressing: Set<ShardID> = []
    private var progressedAt: [ShardID: UInt64] = [:]

    public init() {}

    /// The room's leader is told now; whatever it was told before is void.
    /// - Parameters:
    ///   - shard: the room's.
    ///   - sessions: so many are announced.
    ///   - untaken: what `untaken(of:)` was before the room was forgotten.
    /// - Returns: what the leader is to say when it goes on.
    public mutating func begin(
        _ room: RoomID, of shard: ShardID? = nil, sessions: Int = 1, untaken: UInt64? = nil, at nowMilliseconds: UInt64
    ) -> UInt64 {
        last += 1
        let former = waits[room]
        let asks = former.map { $0.isOverdue ? $0.asks + 1 : $0.asks } ?? 1
        sessionsTold = sessionsTold - (former?.sessions ?? 0) + UInt64(sessions)
        let pause = (Self.pauseFirst << min(asks - 1, 16)) + sessionsTold / Self.sessionsPerMillisecond
        let due = nowMilliseconds + min(Self.pauseMax, pause)
        waits[room] = Wait(
            number: last, first: untaken ?? former?.first ?? last, askAgainAt: due, asks: asks,
            sessions: UInt64(sessions), shard: shard,
            deadline: max(due, nowMilliseconds + Self.pauseMax))
        nextLook = min(nextLook, due)
        return last
    }

    /// Nobody follows these rooms any more.
    public mutating func forget(where isGone: (RoomID) -> Bool) {
        waits = waits.filter { !isGone($0.key) }
        sessionsTold = waits.values.reduce(0) { $0 + $1.sessions }
    }

    /// The number under which the leader was told first, if the room's stream has not begun to go on since.
    public func untaken(of room: RoomID) -> UInt64? { waits[room]?.first }

    /// The same of all rooms of a shard.
    public func untaken(of shard: ShardID) -> [RoomID: UInt64] {
        waits.filter { $0.value.shard == shard }.mapValues(\.first)
    }

    /// Whether the room's stream has not begun to go on.
    public func awaits(_ room: RoomID) -> Bool { waits[room] != nil }

    /// The rooms whose streams have not begun to go on, and their shards.
    public var rooms: some Sequence<(room: RoomID, shard: ShardID)> {
        waits.lazy.compactMap { entry in entry.value.shard.map { (entry.key, $0) } }
    }

    /// Whether that is so for any room of the shard.
    public func awaitsAny(of shard: ShardID) -> Bool {
        !waits.isEmpty && waits.values.contains { $0.shard == shard }
    }

    /// Rooms whose leaders are to be told once more. A leader that can't do that now is told again.
    public mutating func overdue(at nowMilliseconds: UInt64) -> [RoomID] {
        for shard in progressing { progressedAt[shard] = nowMilliseconds }
        progressing = []
        guard nowMilliseconds >= nextLook else { return [] }
        for (room, wait) in waits where wait.askAgainAt <= nowMilliseconds && nowMilliseconds < wait.deadline {
            guard let shard = wait.shard, let last = progressedAt[shard], nowMilliseconds < last + Self.pauseFirst
            else { continue }
            waits[room]?.askAgainAt = min(wait.deadline, last + Self.pauseFirst)
        }
        nextLook = waits.values.map(\.askAgainAt).filter { $0 > nowMilliseconds }.min() ?? .max
        let due = waits.filter { $0.value.askAgainAt <= nowMilliseconds }.keys.sorted()
        for room in due {
            let next = nowMilliseconds + Self.pauseFirst
            waits[room]?.askAgainAt = next
            waits[room]?.isOverdue = true
            nextLook = min(nextLook, next)
        }
        return due
    }

    /// Whether what a room tells is to be performed.
    public mutating func takes(_ output: RoomOutput, of room: RoomID) -> Bool {
        guard !waits.isEmpty, let wait = waits[room] else { return true }
        if case .following(wait.number, _) = output {
            waits[room] = nil
            sessionsTold -= wait.sessions
            if let shard = wait.shard { progressing.insert(shard) }
            return true
        }
        // A session that was put out meanwhile is told so when it is announced.
        if case .kicked = output { return true }
        // The copy of a session that another node has would only be announced again.
        if case .takenOver = output { return true }
        // It is told anew with each announcement.
        if case .voice = output { return true }
        return output.isAnswer
    }
}
