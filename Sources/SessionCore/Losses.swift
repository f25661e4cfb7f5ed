import ChatModel

/// The losses of a session, per room, until it is told by `gap` and `skipped`.
///
/// Bounded by the rooms of a session and, per room, by `rangesMax`: beyond it the last range is widened, since `gap`
/// means that of these seqs, what the session did not receive is only in history.
public struct Losses: Sendable, Hashable {
    public struct RoomLoss: Sendable, Hashable {
        public var room: RoomID
        public var ranges: [ClosedRange<UInt64>] = []
        public var unkept = 0
        public var barrage = 0
    }

    public static let rangesMax = 32

    public private(set) var rooms: [RoomLoss] = []
    /// Rooms of which totals of tallies were lost. Nothing is named lost, and nothing has to wait until they are told again.
    public private(set) var withoutTotals: Set<RoomID> = []

    public init() {}

    /// Whether there is nothing that the client must be told before anything newer.
    public var isEmpty: Bool { rooms.isEmpty }

    /// How many messages and barrage items that is. A range that was widened counts as a whole.
    public var count: Int {
        rooms.reduce(0) { sum, room in
            let seqs = room.ranges.reduce(0) { $0 + Int(clamping: $1.upperBound - $1.lowerBound) + 1 }
            return sum + seqs + room.unkept + room.barrage
        }
    }

    public mutating func note(_ frame: some QueuedFrame) {
        guard let room = frame.room else { return }
        switch frame.traffic {
        case .status, .reply: break
        case .totals: noteTotals(of: room)
        case .messages, .barrage:
            note(room: room, keptSeqs: frame.keptSeqs, unkept: frame.unkeptCount, barrage: frame.barrageCount)
        }
    }

    public mutating func noteTotals(of room: RoomID) { withoutTotals.insert(room) }

    public mutating func note(room: RoomID, keptSeqs: ClosedRange<UInt64>?, unkept: Int, barrage: Int) {
        let index: Int
        if let known = rooms.firstIndex(where: { $0.room == room }) {
            index = known
        } else {
            rooms.append(RoomLoss(room: room))
            index = rooms.count - 1
        }
        rooms[index].unkept += unkept
        rooms[index].barrage += barrage
        if let seqs = keptSeqs { rooms[index].ranges = Self.adding(seqs, to: rooms[index].ranges) }
    }

    /// Ranges come in order, but for a `gap` that is lost itself: it names seqs of before.
    private static func adding(_ seqs: ClosedRange<UInt64>, to ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
        var (ranges, seqs) = (ranges, seqs)
        while let last = ranges.last, last.upperBound &+ 1 >= seqs.lowerBound || ranges.count == rangesMax {
            seqs = min(last.lowerBound, seqs.lowerBound)...max(last.upperBound, seqs.upperBound)
            ranges.removeLast()
        }
        ranges.append(seqs)
        return ranges
    }

    /// Forgets a room that the session has left: nobody waits for it.
    public mutating func forget(_ room: RoomID) {
        rooms.removeAll { $0.room == room }
        withoutTotals.remove(room)
    }

    /// Hands over the rooms whose totals are to be told again.
    public mutating func takeTotals() -> [RoomID] {
        defer { withoutTotals = [] }
        return withoutTotals.sorted()
    }

    /// Hands everything over.
    public mutating func take() -> [RoomLoss] {
        let all = rooms
        rooms = []
        return all
    }
}
