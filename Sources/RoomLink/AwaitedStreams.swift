import ChatModel

/// Rooms of which a lane has told the leader what its viewers have been shown (`follow`), and whose stream has not begun
/// to go on from there. What comes of such a room before it goes on is not shown: it may be of the time before, when the
/// leader thought that the lane had all it was told, and what goes on includes it. Pure: times are passed in.
///
/// A leader that does not go on in time is told once more, and again after longer and longer pauses.
public struct AwaitedStreams: Sendable {
    /// How long a leader may take to go on, in milliseconds; then twice as long each time, up to `pauseMax`. A room that
    /// is still being loaded takes a while.
    public static let pauseFirst: UInt64 = 2_000
    public static let pauseMax: UInt64 = 16_000

    private struct Wait {
        var number: UInt64
        var askAgainAt: UInt64
        var asks: UInt64
    }

    private var waits: [RoomID: Wait] = [:]
    private var last: UInt64 = 0
    /// None is due before; may be too early.
    private var nextLook = UInt64.max

    public init() {}

    /// The room's leader is told now; whatever it was told before is void.
    /// - Returns: what the leader is to say when it goes on.
    public mutating func begin(_ room: RoomID, at nowMilliseconds: UInt64) -> UInt64 {
        last += 1
        let asks = (waits[room]?.asks ?? 0) + 1
        let due = nowMilliseconds + min(Self.pauseMax, Self.pauseFirst << min(asks - 1, 16))
        waits[room] = Wait(number: last, askAgainAt: due, asks: asks)
        nextLook = min(nextLook, due)
        return last
    }

    /// Nobody follows these rooms any more.
    public mutating func forget(where isGone: (RoomID) -> Bool) {
        waits = waits.filter { !isGone($0.key) }
    }

    /// Whether the room's stream has not begun to go on.
    public func awaits(_ room: RoomID) -> Bool { waits[room] != nil }

    /// Rooms whose leaders are to be told once more. Who can't do that now is told again.
    public mutating func overdue(at nowMilliseconds: UInt64) -> [RoomID] {
        guard nowMilliseconds >= nextLook else { return [] }
        nextLook = waits.values.map(\.askAgainAt).filter { $0 > nowMilliseconds }.min() ?? .max
        let due = waits.filter { $0.value.askAgainAt <= nowMilliseconds }.keys.sorted()
        for room in due {
            let next = nowMilliseconds + Self.pauseFirst
            waits[room]?.askAgainAt = next
            nextLook = min(nextLook, next)
        }
        return due
    }

    /// Whether what a room tells is to be performed.
    public mutating func takes(_ output: RoomOutput, of room: RoomID) -> Bool {
        guard !waits.isEmpty, let number = waits[room]?.number else { return true }
        if case .following(number, _) = output {
            waits[room] = nil
            return true
        }
        // Whoever was put out meanwhile is told so when it is announced.
        if case .kicked = output { return true }
        // It is told anew with each announcement.
        if case .voice = output { return true }
        return output.isAnswer
    }
}
