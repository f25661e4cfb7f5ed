import ChatModel

/// Rooms of which a lane has told the leader what its viewers have been shown (`follow`), and whose stream has not begun
/// to go on from there. What comes of such a room before it goes on is not shown: it may be of the time before, when the
/// leader thought that the lane had all it was told, and what goes on includes it. Pure.
public struct AwaitedStreams: Sendable {
    private var numbers: [RoomID: UInt64] = [:]
    private var last: UInt64 = 0

    public init() {}

    /// The room's leader is told now; whatever it was told before is void.
    /// - Returns: what the leader is to say when it goes on.
    public mutating func begin(_ room: RoomID) -> UInt64 {
        last += 1
        numbers[room] = last
        return last
    }

    /// Nobody follows these rooms any more.
    public mutating func forget(where isGone: (RoomID) -> Bool) {
        numbers = numbers.filter { !isGone($0.key) }
    }

    /// Whether what a room tells is to be performed.
    public mutating func takes(_ output: RoomOutput, of room: RoomID) -> Bool {
        guard !numbers.isEmpty, let number = numbers[room] else { return true }
        if case .following(number) = output {
            numbers[room] = nil
            return true
        }
        // Whoever was put out meanwhile is told so when it is announced.
        if case .kicked = output { return true }
        // It is told anew with each announcement.
        if case .voice = output { return true }
        return output.isAnswer
    }
}
