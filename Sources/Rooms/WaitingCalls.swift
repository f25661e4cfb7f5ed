import ChatModel
import EventLoop
import RoomProtocol

/// Calls of sessions and of the server API that have come to a loop's rooms and wait for their turn: as many as come at
/// once need not all be answered in one turn.
struct WaitingCalls {
    /// Calls above this number are taken at once, however long the turn gets: the loop can't keep up, and reading from
    /// clients is to be slowed down by that.
    static let countMax = 65_536
    /// How many are taken between two looks at the clock.
    static let callsAtATime = 32

    private var calls: [(ShardID, RoomWork)] = []
    private var next = 0

    var isEmpty: Bool { next == calls.count }

    mutating func append(_ more: [(ShardID, RoomWork)]) {
        if isEmpty {
            calls = more
            next = 0
        } else {
            calls += more
        }
    }

    /// The next calls in their order, a few at a time; empty when there are none.
    mutating func take() -> [(ShardID, RoomWork)] {
        let end = min(calls.count, next + Self.callsAtATime)
        let taken = Array(calls[next..<end])
        next = end
        if isEmpty {
            calls = []
            next = 0
        } else if next > calls.count / 2, next > Self.callsAtATime * 8 {
            // Taken calls are let go of, though it may be long until there are none.
            calls.removeFirst(next)
            next = 0
        }
        return taken
    }

    /// Whether more wait than may.
    var isOverfull: Bool { calls.count - next > Self.countMax }

    /// How many are kept in memory, those that were taken included.
    var keptCount: Int { calls.count }
}
