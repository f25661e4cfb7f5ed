import ChatModel

/// Which of a session's requests the present connection waits for, by the number that each has towards rooms.
///
/// A request ID is the client's, and counts on its connection only: a client that resumes may begin its IDs anew.
/// Answers to requests of an earlier connection may still come, and must not be taken for the answer to something else.
/// So rooms are asked under the session's own number, which goes on over connections, lanes and nodes.
///
/// Bounded by what its holder lets be open: each request is ended, by its answer or by giving it up.
public struct SessionRequests: Sendable {
    /// How many there were, over all connections.
    public private(set) var count: UInt64
    /// By the number: the client's request ID.
    private var asked = AscendingTable<UInt32>()

    /// - Parameter count: how many requests the session has had before, on another lane or node.
    public init(count: UInt64 = 0) { self.count = count }

    /// Those of a session whose count nobody knows any more. Rooms take a number that comes again for a repeat, so it
    /// begins where no earlier life of the session has been: 2^32 further for each quarter of a second since it began.
    /// Answers have only the lower 32 bits, and those to an earlier life may still be on their way to this node: so these
    /// begin elsewhere, too, and come again after more than eight minutes.
    public init(revivedAfterMilliseconds age: Int64) {
        let life = UInt64(clamping: age) / 256 + 1
        count = life << 32 | (life & 0x7ff) << 20
    }

    /// A request that nobody waits for, which only has its place in the count.
    public mutating func pass() { count += 1 }

    /// - Parameter id: the client's request ID; nil when it wants no reply.
    /// - Returns: the number under which a room is asked; nil when there will be no reply. It comes again after 2^32
    ///   requests, when the former one has long been ended.
    public mutating func begin(_ id: UInt32?) -> UInt32? {
        count += 1
        guard let id else { return nil }
        let number = UInt32(truncatingIfNeeded: count)
        asked.append(id, at: number)
        return number
    }

    /// A request has its answer, or gets none.
    /// - Returns: the ID to reply with; nil when the present connection did not ask.
    public mutating func end(_ number: UInt32) -> UInt32? { asked.removeValue(at: number) }

    /// Nobody waits any more for what was asked over the connection that has gone.
    public mutating func connectionEnded() { asked = AscendingTable() }

    /// How many the present connection waits for.
    public var waitingCount: Int { asked.count }
}
