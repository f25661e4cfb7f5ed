import LinkCore

/// One TCP connection between two nodes, as the systems of both machines have it: bytes in order, and an end that each
/// side notices for itself. A process that stands still reads nothing; its system takes connections and bytes all the
/// same, and gives it everything when it goes on.
final class SimulatedWire {
    enum Item {
        case bytes([UInt8])
        /// The other side has closed it, or does not know it.
        case end
    }

    struct Side {
        let node: Int
        /// The life of the process that it belongs to.
        var run: Int
        /// Whether the process, or its system for it, has this side.
        var isOpen = false
        var underWay = Fifo()
        var lastArrival = Duration.zero
        /// Has come, and the process has not read it.
        var readable: [UInt8] = []
        var hasEnded = false
        /// Items that have come and whose acknowledgement is lost.
        var unacknowledged = 0
        /// The process has something to write, for which there is no room.
        var waitsForRoom = false
        /// As the node's links know it.
        var id: LinkPeers.ConnectionID?
    }

    /// What is under way to one side, oldest first.
    struct Fifo {
        private(set) var items: [Item] = []
        private(set) var byteCount = 0

        mutating func append(_ item: Item) {
            if case .bytes(let bytes) = item { byteCount += bytes.count }
            items.append(item)
        }

        mutating func popFirst() -> Item? {
            guard let first = items.first else { return nil }
            if case .bytes(let bytes) = first { byteCount -= bytes.count }
            items.removeFirst()
            return first
        }
    }

    /// So much fits the sockets of both sides: little, so that it is met.
    static let roomBytes = 48 << 10
    /// What a sender gives out without any acknowledgement, in pieces.
    static let unacknowledgedMax = 8

    /// The caller's first.
    var sides: [Side]
    /// The caller has been told how its call has ended.
    var isCallOver = false

    init(from caller: Int, run: Int, to called: Int) {
        sides = [Side(node: caller, run: run), Side(node: called, run: 0)]
    }

    /// Whether nobody has it any more.
    var isOver: Bool { isCallOver && !sides[0].isOpen && !sides[1].isOpen }

    /// Whether the system takes more of a side's bytes.
    func hasRoom(from side: Int) -> Bool {
        let other = sides[1 - side]
        return other.underWay.byteCount + other.readable.count < Self.roomBytes
    }
}
